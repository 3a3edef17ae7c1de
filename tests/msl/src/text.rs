//! Rewrites the parts of a kernel's text that a C++ compiler would not accept.
//!
//! ```text
//!   threadgroup uint counts[256];      ──▶   auto &counts = msl::threadgroup_variable<uint [256]>(3, "counts");
//!   kernel void sum(device uint* a [[buffer(1)]], uint lane [[thread_index_in_simdgroup]])
//!                                      ──▶   msl_entry calls sum(msl::Bound{buffers[1]}, t->lane)
//! ```
//!
//! All other text stays, on its line. The shim defines address spaces as empty macros, so this file checks where they are used. A declaration
//! that this file does not support is an error.

use crate::error::Error;
use core::fmt::Write;
use core::ops::Range;

/// The most threadgroup variables of a text, equal to `VARIABLES` of `shim/machine.h`.
const MAX_VARIABLES: usize = 64;

/// A kernel as C++ text for the shim.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) text: String,
    /// The number of bindings, up to the highest index of the kernel.
    pub(crate) bindings: usize,
    /// The most threads of a threadgroup, if the kernel declares them.
    pub(crate) max_threads: Option<u32>,
}

/// Translates the kernel `entry` of `text`.
pub(crate) fn translated(text: &str, entry: &str) -> Result<Translated, Error> {
    let text = without_comments(text);
    let tokens = tokens(&text)?;
    let mut walk = Walk { text: &text, tokens: &tokens, edits: vec![], kernels: vec![], max_threads: None, variables: 0 };
    walk.run()?;
    let Walk { edits, kernels, max_threads, .. } = walk;
    let kernel = kernels.into_iter().find(|kernel| kernel.name == entry).ok_or_else(|| Error::NoKernel { name: entry.into() })?;
    let mut translated = format!("#include <metal_stdlib>\n#line 1 \"/msl/{entry}\"\n");
    let mut at = 0;
    for (range, edit) in edits {
        translated += &text[at..range.start];
        translated += &edit;
        at = range.end;
    }
    translated += &text[at..];
    let _ = write!(
        translated,
        "\n#line 1 \"/entry\"\nextern \"C\" __attribute__((no_sanitize_thread)) void msl_entry(void **buffers, const msl::Thread *t) \
         {{ (void)buffers; (void)t; {entry}({}); }}\n",
        kernel.arguments.join(", ")
    );
    Ok(Translated { text: translated, bindings: kernel.bindings, max_threads: kernel.max_threads.or(max_threads) })
}

struct Kernel {
    name: String,
    arguments: Vec<String>,
    bindings: usize,
    max_threads: Option<u32>,
}

/// Removes comments. Line ends stay, so that lines keep their numbers.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        kept += &rest[..start];
        let is_block = rest[start..].starts_with("/*");
        let length = match is_block {
            true => rest[start + 2..].find("*/").map_or(rest.len() - start, |end| end + 4),
            false => rest[start..].find('\n').unwrap_or(rest.len() - start),
        };
        kept.push(' ');
        kept.extend(rest[start..start + length].chars().filter(|&c| c == '\n'));
        rest = &rest[start + length..];
    }
    kept + rest
}

#[derive(Clone, Debug)]
struct Token<'a> {
    word: &'a str,
    start: usize,
    line: usize,
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the tokens: names, numbers and single signs. It skips directives, and refuses those that contain a declaration.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut tokens = vec![];
    let mut start = 0;
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let is_directive = content.trim_start().starts_with('#');
        let mut at = 0;
        while let Some(c) = content[at..].chars().next() {
            let end =
                at + if is_name(c) { content[at..].find(|c| !is_name(c)).unwrap_or(content.len() - at) } else { c.len_utf8() };
            let word = &content[at..end];
            if is_directive && ["threadgroup", "device", "constant", "thread", "kernel"].contains(&word) {
                return Err(unknown(line, content.trim(), "a directive that declares"));
            }
            if !is_directive && !c.is_whitespace() {
                tokens.push(Token { word, start: start + at, line });
            }
            at = end;
        }
        start += content.len();
    }
    Ok(tokens)
}

fn unknown(line: usize, what: &str, why: &str) -> Error {
    Error::Declaration { line: line as u32, what: what.split_whitespace().collect::<Vec<_>>().join(" "), why: why.into() }
}

struct Walk<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    edits: Vec<(Range<usize>, String)>,
    kernels: Vec<Kernel>,
    /// The number in the attribute of the next kernel.
    max_threads: Option<u32>,
    variables: usize,
}

impl<'a> Walk<'a> {
    fn run(&mut self) -> Result<(), Error> {
        let (mut depth, mut kernel_at) = (0_usize, None);
        let mut parameters = 0..0;
        let mut i = 0;
        while i < self.tokens.len() {
            let in_kernel = kernel_at.is_some();
            match self.word(i) {
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    if kernel_at == Some(depth) {
                        kernel_at = None;
                    }
                }
                "kernel" => {
                    parameters = self.kernel(i)?;
                    kernel_at = Some(depth);
                }
                "[" if self.word(i + 1) == "[" && !parameters.contains(&i) => i = self.attribute(i)?,
                "threadgroup" => self.threadgroup(i, in_kernel && depth > 0)?,
                "device" => self.pointer(i)?,
                "constant" if depth > 0 || self.word(self.declared(i).end) != "=" => self.pointer(i)?,
                "typedef" => self.typedef(i),
                "(" if depth == 0 && !parameters.contains(&i) => self.parameters_have_spaces(i)?,
                _ if depth > 0 => self.local_has_space(i)?,
                _ => {}
            }
            i += 1;
        }
        Ok(())
    }

    fn word(&self, i: usize) -> &'a str {
        self.tokens.get(i).map_or("", |token| token.word)
    }

    fn is_pointer(&self, range: Range<usize>) -> bool {
        range.into_iter().any(|i| ["*", "&"].contains(&self.word(i)))
    }

    fn written(&self, range: Range<usize>) -> &'a str {
        if range.is_empty() || range.end > self.tokens.len() {
            return "";
        }
        let last = &self.tokens[range.end - 1];
        &self.text[self.tokens[range.start].start..last.start + last.word.len()]
    }

    fn unknown(&self, range: Range<usize>, why: &str) -> Error {
        unknown(self.tokens[range.start].line, self.written(range), why)
    }

    /// Returns the tokens from a word to the end of its declaration.
    fn declared(&self, i: usize) -> Range<usize> {
        let mut depth = 0_i32;
        let mut end = i + 1;
        while end < self.tokens.len() {
            match self.word(end) {
                "[" | "<" => depth += 1,
                "]" | ">" => depth -= 1,
                ";" | ")" | "(" | "{" | "}" | "=" => break,
                "," if depth == 0 => break,
                _ => {}
            }
            end += 1;
        }
        i + 1..end
    }

    /// Checks that the declaration with this address space is a pointer or a reference.
    fn pointer(&self, i: usize) -> Result<(), Error> {
        let declared = self.declared(i);
        if self.is_pointer(declared.clone()) {
            return Ok(());
        }
        Err(self.unknown(i..declared.end, "neither a pointer nor a reference, nor a constant of the program"))
    }

    /// Replaces `threadgroup T name[dims];` by a reference to memory of the runtime.
    fn threadgroup(&mut self, i: usize, may_declare: bool) -> Result<(), Error> {
        let declared = self.declared(i);
        if self.is_pointer(declared.clone()) {
            return Ok(());
        }
        let dims = declared.clone().find(|&t| self.word(t) == "[").unwrap_or(declared.end);
        let is_variable = self.word(declared.end) == ";" && dims >= i + 3 && self.word(dims - 1).chars().all(is_name);
        if !is_variable || !may_declare {
            let why =
                if is_variable { "threadgroup memory outside of a kernel" } else { "no threadgroup variable of a known form" };
            return Err(self.unknown(i..declared.end + 1, why));
        }
        let (kind, name, dims) = (self.written(i + 1..dims - 1), self.word(dims - 1), self.written(dims..declared.end));
        let id = self.variable(i..declared.end)?;
        let text = format!("auto &{name} = msl::threadgroup_variable<{kind} {dims}>({id}, \"{name}\")");
        self.edit(i..declared.end, text);
        Ok(())
    }

    /// Returns the number of a new threadgroup variable.
    fn variable(&mut self, declared: Range<usize>) -> Result<usize, Error> {
        self.variables += 1;
        let fits = self.variables <= MAX_VARIABLES;
        fits.then_some(self.variables - 1)
            .ok_or_else(|| self.unknown(declared, "more threadgroup variables than are emulated here"))
    }

    /// Replaces tokens, and keeps the line ends between them.
    fn edit(&mut self, range: Range<usize>, mut text: String) {
        let start = self.tokens[range.start].start;
        let written = self.written(range.clone());
        text.extend(written.chars().filter(|&c| c == '\n'));
        let end = start + written.len();
        self.edits.push((start..end, text));
    }

    /// Replaces an array of one element, by which naga means an array of unknown length. A C++ compiler would assume that there is one element.
    fn typedef(&mut self, i: usize) {
        let end = (i..self.tokens.len()).find(|&t| self.word(t) == ";").unwrap_or(i);
        if end > i + 4 && [self.word(end - 3), self.word(end - 2), self.word(end - 1)] == ["[", "1", "]"] {
            let start = self.tokens[end - 2].start;
            self.edits.push((start..start + 1, "0x10000000".into()));
        }
    }

    /// Handles an attribute that does not belong to a kernel parameter. Returns its last token.
    fn attribute(&mut self, i: usize) -> Result<usize, Error> {
        let end = (i..self.tokens.len()).find(|&t| self.word(t) == "]" && self.word(t + 1) == "]").unwrap_or(i) + 1;
        match (self.word(i + 2), self.number(self.word(i + 4))) {
            ("max_total_threads_per_threadgroup", Some(most)) => self.max_threads = Some(most),
            _ => return Err(self.unknown(i..end + 1, "an attribute that is not emulated here")),
        }
        Ok(end)
    }

    /// Returns the value of a number, or of a macro.
    fn number(&self, word: &str) -> Option<u32> {
        let defined =
            |line: &str| line.strip_prefix("#define ")?.strip_prefix(word)?.strip_prefix(' ')?.trim_end_matches('u').parse().ok();
        word.parse().ok().or_else(|| self.text.lines().find_map(defined))
    }

    /// Handles `kernel void name(parameters)`. Returns the tokens of the parameters.
    fn kernel(&mut self, i: usize) -> Result<Range<usize>, Error> {
        if self.word(i + 1) != "void" || self.word(i + 3) != "(" {
            return Err(self.unknown(i..(i + 4).min(self.tokens.len()), "no kernel of the form `kernel void name(`"));
        }
        let range = i + 4..self.closing(i + 3);
        let mut kernel =
            Kernel { name: self.word(i + 2).into(), arguments: vec![], bindings: 0, max_threads: self.max_threads.take() };
        for parameter in self.split(range.clone()) {
            let argument = self.argument(parameter, &mut kernel)?;
            kernel.arguments.push(argument);
        }
        self.kernels.push(kernel);
        Ok(i + 3..range.end)
    }

    /// Returns the closing parenthesis for the one at `open`.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_i32;
        for i in open..self.tokens.len() {
            match self.word(i) {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return i;
            }
        }
        self.tokens.len()
    }

    /// Splits parameters at their commas.
    fn split(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let (mut parts, mut depth, mut start) = (vec![], 0_i32, range.start);
        for i in range.clone() {
            match self.word(i) {
                "(" | "[" | "<" => depth += 1,
                ")" | "]" | ">" => depth -= 1,
                "," if depth == 0 => {
                    parts.push(start..i);
                    start = i + 1;
                }
                _ => {}
            }
        }
        parts.push(start..range.end);
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Returns the argument of the kernel for a parameter.
    fn argument(&mut self, parameter: Range<usize>, kernel: &mut Kernel) -> Result<String, Error> {
        let attribute = parameter.clone().find(|&i| self.word(i) == "[" && self.word(i + 1) == "[");
        let Some(attribute) = attribute else {
            if self.word(parameter.start) == "threadgroup" {
                let name = self.word(parameter.end - 1);
                return Ok(format!("msl::Shared{{{}, \"{name}\"}}", self.variable(parameter)?));
            }
            return Err(self.unknown(parameter, "a parameter without an attribute"));
        };
        let argument = match self.word(attribute + 2) {
            "buffer" => {
                let binding = self.word(attribute + 4).parse::<usize>().ok().filter(|&binding| binding < 31);
                let binding = binding.ok_or_else(|| self.unknown(parameter, "no binding from 0 to 30"))?;
                kernel.bindings = kernel.bindings.max(binding + 1);
                return Ok(format!("msl::Bound{{buffers[{binding}]}}"));
            }
            "thread_index_in_threadgroup" => "t->index",
            "thread_index_in_simdgroup" => "t->lane",
            "simdgroup_index_in_threadgroup" => "t->simdgroup",
            "simdgroups_per_threadgroup" => "t->simdgroups",
            "threads_per_simdgroup" | "thread_execution_width" => "msl::LANES",
            "thread_position_in_grid" => "msl::Dimensions{t->in_grid}",
            "thread_position_in_threadgroup" => "msl::Dimensions{t->in_group}",
            "threadgroup_position_in_grid" => "msl::Dimensions{t->group}",
            "threads_per_threadgroup" => "msl::Dimensions{t->group_size}",
            "threadgroups_per_grid" => "msl::Dimensions{t->groups}",
            "threads_per_grid" => "msl::Dimensions{t->grid}",
            _ => return Err(self.unknown(parameter, "an attribute that is not emulated here")),
        };
        Ok(argument.into())
    }

    /// Checks that pointers and references of a function have address spaces, as Metal requires.
    fn parameters_have_spaces(&self, open: usize) -> Result<(), Error> {
        let close = self.closing(open);
        // A function is a type, a name and parameters. An expression in a constant, or a static_assert, is not.
        let is_word = |i: usize| self.word(i).chars().all(is_name);
        let is_function = open >= 2 && is_word(open - 1) && (is_word(open - 2) || [">", "*", "&"].contains(&self.word(open - 2)));
        if !is_function || !["{", ";"].contains(&self.word(close + 1)) {
            return Ok(());
        }
        for parameter in self.split(open + 1..close) {
            let has_space = parameter.clone().any(|i| ["device", "constant", "threadgroup", "thread"].contains(&self.word(i)));
            if self.is_pointer(parameter.clone()) && !has_space {
                return Err(self.unknown(parameter, "a pointer or reference without an address space"));
            }
        }
        Ok(())
    }

    /// Checks the address space of `T *name =` or `T &name =` at the start of a statement.
    fn local_has_space(&self, i: usize) -> Result<(), Error> {
        let starts = i > 0 && [";", "{", "}"].contains(&self.word(i - 1));
        let is_pointer = ["*", "&"].contains(&self.word(i + 1)) && ["=", ";"].contains(&self.word(i + 3));
        let named = self.word(i).chars().all(is_name) && self.word(i + 2).chars().all(is_name);
        if starts && is_pointer && named && self.word(i) != "auto" {
            return Err(self.unknown(i..i + 3, "a pointer or reference without an address space"));
        }
        Ok(())
    }
}
