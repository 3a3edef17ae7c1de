//! Proves with naga, without a GPU, that every kernel of every plan is valid WGSL and matches what Rust says of it.

mod launches;

use launches::{devices, launches, requests};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{AddressSpace, Module, StorageAccess, TypeInner};
use polysort_shaders::manifest::{Access, Binding, Model, Part};
use polysort_shaders::plan::{
    Ballot, Buffer, Command, Facts, Kernel, MergePlan, MergeRequest, Ranking, SearchPlan, SortPlan, Variant,
};
use polysort_shaders::{abi, prelude};
use polysort_vector::{Metric, Shape};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

fn module(variant: &Variant) -> Module {
    let text = prelude::wgsl(variant);
    naga::front::wgsl::parse_str(&text).unwrap_or_else(|error| panic!("{variant:?}: {}", error.emit_to_string(&text)))
}

/// Parsing takes the most time, so one test parses each variant once, validates it once with and once without subgroups, and checks all of its launches.
/// With `POLYSORT_THOROUGH=1` it takes each variant, else the first one of each kernel and every third one.
#[test]
fn every_launch_is_what_the_plan_and_the_manifest_say() {
    let is_thorough = std::env::var_os("POLYSORT_THOROUGH").is_some_and(|value| value == "1");
    let mut kernels = BTreeSet::new();
    let (mut modules, mut validated) = (HashMap::<Variant, Option<Module>>::new(), HashSet::new());
    for (device, facts, command) in launches() {
        let variant = command.variant;
        let is_taken = kernels.insert(variant.kernel()) || is_thorough || modules.len().is_multiple_of(3);
        let module = modules.entry(variant).or_insert_with(|| is_taken.then(|| module(&variant)));
        let Some(module) = module else { continue };
        if validated.insert((variant, facts.subgroups.is_some())) {
            is_valid_with_the_capabilities_of(facts, &variant, module)
                .unwrap_or_else(|error| panic!("{device}: {variant:?}: {error}"));
        }
        has_the_bindings_of_the_manifest(command, module);
        has_the_workgroup_memory_that_the_plan_says(facts, &variant, module);
    }
    let missing: Vec<Kernel> = Kernel::ALL.into_iter().filter(|kernel| !kernels.contains(kernel)).collect();
    assert_eq!(missing, [], "kernels that are in no plan of this test");
}

/// A model shows what a kernel computes.
#[test]
fn only_kernels_that_add_floats_have_no_model() {
    let without = Kernel::ALL.into_iter().filter(|kernel| kernel.entry().model == Model::None);
    assert!(without.eq([Kernel::IvfDistance, Kernel::Nearest]));
}

fn is_valid_with_the_capabilities_of(facts: &Facts, variant: &Variant, module: &Module) -> Result<(), String> {
    // Without subgroups nothing of them may be used.
    let subgroups = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
    let capabilities = if facts.subgroups.is_some() { subgroups } else { Capabilities::empty() };
    // Halves are unpacked to single precision, which every WebGPU does.
    let capabilities = capabilities | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
    Validator::new(ValidationFlags::all(), capabilities).validate(module).map_err(|error| format!("{error:?}"))?;
    let entry = &module.entry_points[0];
    assert_eq!((module.entry_points.len(), entry.name.as_str()), (1, variant.kernel().name()));
    assert_eq!(entry.workgroup_size, [variant.group, 1, 1], "{variant:?}");
    Ok(())
}

/// Returns the manifest's bindings of the command's kernel, with the buffers that the command binds.
fn bound(command: &Command) -> Vec<(&'static Binding, Buffer)> {
    let bindings: Vec<_> = prelude::bindings(&command.variant).collect();
    assert_eq!(bindings.len(), command.bindings.len(), "{command}");
    bindings.into_iter().zip(command.bindings.iter().copied()).collect()
}

fn has_the_bindings_of_the_manifest(command: &Command, module: &Module) {
    let mut found = HashMap::new();
    for (_, global) in module.global_variables.iter() {
        if let Some(binding) = &global.binding {
            assert_eq!(binding.group, 0);
            found.insert(binding.binding as usize, (global.name.as_deref().unwrap(), global.space));
        }
    }
    let bound = bound(command);
    assert_eq!(found.len(), bound.len(), "{command}");
    assert_eq!(command.numbers.len(), command.bindings.iter().filter(|&&b| b == Buffer::Number).count(), "{command}");
    for (index, (binding, buffer)) in bound.into_iter().enumerate() {
        let (name, space) = *found.get(&index).unwrap_or_else(|| panic!("no binding {index}: {command}"));
        assert_eq!(name, binding.name, "binding {index} of {command}");
        let uniform = match binding.access {
            Access::Number => Some(Buffer::Number),
            Access::Sort => Some(Buffer::Sort),
            Access::Search => Some(Buffer::Search),
            Access::Merge => Some(Buffer::Merge),
            Access::Read | Access::Write | Access::Aliased => None,
        };
        assert_eq!(uniform, Some(buffer).filter(|buffer| UNIFORMS.contains(buffer)), "binding {index} of {command}");
        assert_eq!(space == AddressSpace::Uniform, uniform.is_some(), "binding {index} of {command}");
        let stores = matches!(space, AddressSpace::Storage { access } if access.contains(StorageAccess::STORE));
        assert_eq!(stores, prelude::writes(&command.variant, binding), "binding {index} of {command}");
    }
}

/// The buffers that kernels bind as uniforms.
const UNIFORMS: [Buffer; 4] = [Buffer::Number, Buffer::Sort, Buffer::Search, Buffer::Merge];

/// Each kernel whose entry names MSL has an MSL version of all variants, except those that rank with counters, or for subgroups of more than 32
/// lanes. An MSL version declares each binding with the name, the number and the access of the manifest.
#[test]
fn msl_versions_have_the_bindings_of_the_manifest() {
    let mut translated = BTreeSet::new();
    for (_, _, command) in launches() {
        let kernel = command.variant.kernel();
        let Some(text) = prelude::msl(&command.variant) else {
            let ranking = command.variant.shape.ranked_tile().map(|tile| tile.ranking);
            let is_plain = matches!(ranking, None | Some(Ranking::Ballot(Ballot { wide: false, .. })));
            assert!(kernel.entry().msl.is_none() || !is_plain, "no MSL version of {command}");
            continue;
        };
        assert!(kernel.entry().msl.is_some(), "{kernel:?}");
        translated.insert(kernel);
        for (index, (binding, buffer)) in bound(command).into_iter().enumerate() {
            let declared = format!("{} [[buffer({index})]],", binding.name);
            let Some(line) = text.lines().find(|line| line.ends_with(&declared)) else { panic!("no {declared} in {command}") };
            let begin = match binding.access {
                _ if UNIFORMS.contains(&buffer) => "constant ",
                Access::Write => "device ",
                // Other arguments may write the same buffer.
                _ => "const device ",
            };
            // Atomic words are never constant.
            assert!(line.trim_start().starts_with(begin) || line.contains("device atomic_uint*"), "{line}: {command}");
        }
    }
    assert_eq!(translated, Kernel::ALL.into_iter().filter(|kernel| kernel.entry().msl.is_some()).collect());
}

/// Each file of `wgsl` and `msl` is in an entry of the manifest, or in the ranking that kernels share.
#[test]
fn every_file_is_in_the_manifest() {
    let prelude = include_str!("../src/prelude.rs");
    for language in ["wgsl", "msl"] {
        let mut known = vec![];
        for source in Kernel::ALL.iter().filter_map(|kernel| match language {
            "wgsl" => Some(&kernel.entry().wgsl),
            _ => kernel.entry().msl.as_ref(),
        }) {
            known.push(source.file);
            known.extend(source.parts.iter().filter_map(|part| match part {
                Part::File(file) | Part::FileIf(_, file) => Some(*file),
                Part::Ranking => None,
            }));
        }
        for folder in [language.into(), format!("{language}/parts")] {
            for file in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
                let path = file.unwrap().path();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                if path.is_file() && !prelude.contains(&format!("part!(\"{name}\")")) {
                    let text = std::fs::read_to_string(&path).unwrap();
                    assert!(known.contains(&text.as_str()), "no kernel has {}", path.display());
                }
            }
        }
    }
}

/// ARCHITECTURE.md names every kernel of a sort beside the algorithm that uses it.
#[test]
fn the_architecture_names_every_kernel() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../ARCHITECTURE.md")).unwrap();
    // Every second piece between backticks is code.
    let words: BTreeSet<&str> = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace).collect();
    let missing: Vec<_> = Kernel::ALL.into_iter().map(Kernel::name).filter(|name| !words.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}

fn has_the_workgroup_memory_that_the_plan_says(facts: &Facts, variant: &Variant, module: &Module) {
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let shared = module.global_variables.iter().filter(|(_, global)| global.space == AddressSpace::WorkGroup);
    let bytes: u32 = shared.map(|(_, global)| layouter[global.ty].size.next_multiple_of(16)).sum();
    assert!(bytes <= facts.workgroup_bytes, "{bytes} bytes for {facts:?}: {variant:?}");
    assert_eq!(bytes, variant.workgroup_bytes(), "{variant:?}");
}

#[test]
fn structures_are_laid_out_as_in_rust() {
    let request = requests().into_iter().find(|request| request.key_bits == 32).unwrap();
    let plan = SortPlan::new(request, &devices()[3].1).unwrap();
    let onesweep = plan.all_commands().find(|command| command.variant.kernel() == Kernel::Onesweep).unwrap().variant;
    let search = SearchPlan::new(Shape::new(8, 8), Metric::L2, &devices()[3].1).distances.variant;
    macro_rules! offsets {
        ($ty:ty: $($field:ident)*) => { (size_of::<$ty>(), vec![$((stringify!($field), std::mem::offset_of!($ty, $field))),*]) };
    }
    let sort = offsets!(abi::Sort: clear flip window digit_count max count_index packed_first keys_source keys_home values_home k portion blocked digits);
    let searched = offsets!(abi::Search: queries dimension candidates entries capacity page_slots page_first stride selected);
    let merge = MergePlan::new(MergeRequest::keys(32, request.spec, [8, 8]), &devices()[3].1).unwrap().path.variant;
    let merged = offsets!(abi::Merge: clear flip window first_begin first_end second_begin second_end merged_begin merged_end
        first_keys_word second_keys_word merged_keys_word first_values_word second_values_word merged_values_word first_max
        second_max first_skip second_skip first_count_index second_count_index step unused);
    let structures = [("Sort", onesweep, sort), ("Search", search, searched), ("Merge", merge, merged)];
    for (name, variant, (size, expected)) in structures {
        let module = module(&variant);
        let (_, structure) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).unwrap();
        let TypeInner::Struct { members, span } = &structure.inner else { panic!("{name} is a structure") };
        assert_eq!(*span as usize, size);
        assert_eq!(members.len(), expected.len());
        for (member, (name, at)) in members.iter().zip(expected) {
            assert_eq!((member.name.as_deref(), member.offset as usize), (Some(name), at));
        }
    }
}
