//! Derived keys keep the laws of `Sortable`, in the order of std's derive, and have the words and widths that the docs state.

use core::cmp::{Ordering, Reverse};
use core::fmt::Debug;
use core::marker::PhantomData;
use polysort::laws::check;
use polysort_core::{NoneLast, Sortable, Word};

/// The bits of the word of a key, and its width.
fn sizes<K: Sortable>() -> (u32, u32) {
    (<K::Bits as Word>::BITS, K::WIDTH)
}

/// Checks the laws, that every key is distinct and rebuilt, and that the order is that of `Ord`.
fn holds<K: Sortable + Debug + Ord>(samples: &[K]) {
    check(samples, Ord::cmp).unwrap();
    const { assert!(K::IS_REBUILT) }
    let identical = K::IDENTICAL.expect("a derived key says what is identical");
    for (at, &key) in samples.iter().enumerate() {
        for (other_at, &other) in samples.iter().enumerate() {
            assert_eq!(identical(key, other), key == other, "{at} and {other_at}");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
#[sortable(crate = polysort_core)]
struct Version {
    major: u16,
    minor: u16,
    patch: u16,
    is_release: bool,
}

#[test]
fn a_named_struct_is_ordered_by_its_fields() {
    assert_eq!(sizes::<Version>(), (64, 49));
    let edges = [0, 1, 255, 256, u16::MAX];
    let samples: Vec<Version> = edges
        .iter()
        .flat_map(|&major| edges.map(|minor| (major, minor)))
        .flat_map(|(major, minor)| edges.map(|patch| (major, minor, patch)))
        .flat_map(|(major, minor, patch)| [false, true].map(|is_release| Version { major, minor, patch, is_release }))
        .collect();
    holds(&samples);
    let version = Version { major: 1, minor: 2, patch: 3, is_release: true };
    assert_eq!(version.to_bits(), 1 << 33 | 2 << 17 | 3 << 1 | 1);
}

#[test]
fn the_word_is_the_smallest_one() {
    #[derive(Clone, Copy, Sortable)]
    #[sortable(crate = polysort_core)]
    #[allow(dead_code, reason = "only the types matter")]
    struct Flags(bool, bool, bool);
    #[derive(Clone, Copy, Sortable)]
    #[sortable(crate = polysort_core)]
    #[allow(dead_code, reason = "only the types matter")]
    struct Full(u64, u32, i32);
    #[derive(Clone, Copy, Sortable)]
    #[sortable(crate = polysort_core)]
    #[allow(dead_code, reason = "only the types matter")]
    struct Nine(bool, u8);
    assert_eq!([sizes::<Flags>(), sizes::<Full>(), sizes::<Nine>()], [(8, 3), (128, 128), (16, 9)]);
    // The word of a tuple of the same keys depends on their words.
    assert_eq!(sizes::<(bool, bool, bool)>(), (32, 3));
}

#[test]
fn a_descending_field_is_reversed_alone() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Job(#[sortable(desc)] i8, u32, #[sortable(desc)] Option<char>);

    impl Ord for Job {
        fn cmp(&self, other: &Self) -> Ordering {
            (Reverse(self.0), self.1, Reverse(self.2)).cmp(&(Reverse(other.0), other.1, Reverse(other.2)))
        }
    }
    impl PartialOrd for Job {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    assert_eq!(sizes::<Job>(), (64, 8 + 32 + 22));
    let samples = [i8::MIN, -1, 0, 1, i8::MAX]
        .into_iter()
        .flat_map(|a| [0, 1, u32::MAX].map(|b| (a, b)))
        .flat_map(|(a, b)| [None, Some('\0'), Some('é'), Some(char::MAX)].map(|c| Job(a, b, c)));
    holds(&samples.collect::<Vec<_>>());
}

#[test]
fn structs_nest_and_floats_keep_their_payloads() {
    #[derive(Clone, Copy, Debug, PartialEq, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Reading {
        r#type: Kind,
        value: f32,
        #[sortable(desc)]
        version: NoneLast<Small>,
    }
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Small(u8, bool);
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    enum Kind {
        Cold,
        Warm,
        Hot,
    }

    assert_eq!(sizes::<Reading>(), (64, 2 + 32 + 10));
    let values =
        [f32::NEG_INFINITY, -0.0, 0.0, 1.5, f32::NAN, -f32::NAN, f32::from_bits(0x7fc0_1234), f32::from_bits(0x7f80_0001)];
    let samples: Vec<Reading> = [Kind::Cold, Kind::Warm, Kind::Hot]
        .into_iter()
        .flat_map(|r#type| values.map(|value| (r#type, value)))
        .flat_map(|(r#type, value)| {
            [None, Some(Small(0, false)), Some(Small(255, true))].map(|version| Reading {
                r#type,
                value,
                version: NoneLast(version),
            })
        })
        .collect();
    let compare =
        |a: &Reading, b: &Reading| a.r#type.cmp(&b.r#type).then(a.value.total_cmp(&b.value)).then(b.version.cmp(&a.version));
    check(&samples, compare).unwrap();
    for key in &samples {
        let back = Reading::from_bits(key.to_bits());
        assert_eq!(back.value.to_bits(), key.value.to_bits());
    }
}

#[test]
fn a_unit_struct_has_one_key() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Unit;
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Braces {}
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Between(Unit, u128, ());
    assert_eq!([sizes::<Unit>(), sizes::<Braces>(), sizes::<Between>()], [(8, 0), (8, 0), (128, 128)]);
    holds(&[Unit, Unit]);
    holds(&[Braces {}]);
    holds(&[0, 1, 1 << 127, u128::MAX].map(|bits| Between(Unit, bits, ())));
}

#[test]
fn an_enum_is_ordered_by_its_discriminants() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    enum Written {
        First,
        Second,
        Third,
        Fourth,
        Fifth,
    }
    use Written::{Fifth, First, Fourth, Second, Third};
    assert_eq!(sizes::<Written>(), (8, 3));
    assert_eq!([First, Second, Third, Fourth, Fifth].map(Sortable::to_bits), [0, 1, 2, 3, 4]);
    holds(&[First, Second, Third, Fourth, Fifth]);

    const LOW: i64 = -7_000_000_000;
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    #[repr(i64)]
    enum Numbered {
        High = 1 << 40,
        Low = LOW,
        Next,
        Middle = 0,
    }
    assert_eq!(sizes::<Numbered>(), (8, 2));
    assert_eq!([Numbered::Low, Numbered::Next, Numbered::Middle, Numbered::High].map(Sortable::to_bits), [0, 1, 2, 3]);
    holds(&[Numbered::High, Numbered::Low, Numbered::Next, Numbered::Middle]);

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    #[repr(u128)]
    enum Huge {
        Top = u128::MAX,
        Half = 1 << 127,
        Below = (1 << 127) - 1,
        Zero = 0,
    }
    holds(&[Huge::Top, Huge::Half, Huge::Below, Huge::Zero]);

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    enum Only {
        One,
    }
    assert_eq!(sizes::<Only>(), (8, 0));
    holds(&[Only::One]);
}

#[test]
fn an_enum_of_many_variants_has_a_larger_word() {
    macro_rules! letters {
        ($($name:ident)*) => {
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
            #[sortable(crate = polysort_core)]
            #[repr(u16)]
            enum Many { $($name),* }
            const ALL: &[Many] = &[$(Many::$name),*];
        };
    }
    letters! {
        V0 V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V12 V13 V14 V15 V16 V17 V18 V19
        V20 V21 V22 V23 V24 V25 V26 V27 V28 V29 V30 V31 V32 V33 V34 V35 V36 V37 V38 V39
        V40 V41 V42 V43 V44 V45 V46 V47 V48 V49 V50 V51 V52 V53 V54 V55 V56 V57 V58 V59
        V60 V61 V62 V63 V64 V65 V66 V67 V68 V69 V70 V71 V72 V73 V74 V75 V76 V77 V78 V79
        V80 V81 V82 V83 V84 V85 V86 V87 V88 V89 V90 V91 V92 V93 V94 V95 V96 V97 V98 V99
        V100 V101 V102 V103 V104 V105 V106 V107 V108 V109 V110 V111 V112 V113 V114 V115 V116 V117 V118 V119
        V120 V121 V122 V123 V124 V125 V126 V127 V128 V129 V130 V131 V132 V133 V134 V135 V136 V137 V138 V139
        V140 V141 V142 V143 V144 V145 V146 V147 V148 V149 V150 V151 V152 V153 V154 V155 V156 V157 V158 V159
        V160 V161 V162 V163 V164 V165 V166 V167 V168 V169 V170 V171 V172 V173 V174 V175 V176 V177 V178 V179
        V180 V181 V182 V183 V184 V185 V186 V187 V188 V189 V190 V191 V192 V193 V194 V195 V196 V197 V198 V199
        V200 V201 V202 V203 V204 V205 V206 V207 V208 V209 V210 V211 V212 V213 V214 V215 V216 V217 V218 V219
        V220 V221 V222 V223 V224 V225 V226 V227 V228 V229 V230 V231 V232 V233 V234 V235 V236 V237 V238 V239
        V240 V241 V242 V243 V244 V245 V246 V247 V248 V249 V250 V251 V252 V253 V254 V255 V256 V257 V258 V259
        V260 V261 V262 V263 V264 V265 V266 V267 V268 V269 V270 V271 V272 V273 V274 V275 V276 V277 V278 V279
        V280 V281 V282 V283 V284 V285 V286 V287 V288 V289 V290 V291 V292 V293 V294 V295 V296 V297 V298 V299
    }
    assert_eq!((ALL.len(), sizes::<Many>()), (300, (16, 9)));
    holds(ALL);
}

#[test]
fn generic_structs_are_keys_of_their_fields() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Tagged<K, const CLASS: usize> {
        key: K,
        tag: u8,
    }
    assert_eq!(sizes::<Tagged<i32, 3>>(), (64, 40));
    holds(&[i32::MIN, -1, 0, 7].map(|key| [0, 255].map(|tag| Tagged::<_, 3> { key, tag })).concat());

    /// A typed index: its type parameter is no key and has no values.
    #[derive(Debug, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Id<T: ?Sized> {
        number: u32,
        of: PhantomData<T>,
    }
    impl<T: ?Sized> Clone for Id<T> {
        fn clone(&self) -> Self {
            *self
        }
    }
    impl<T: ?Sized> Copy for Id<T> {}
    assert_eq!(sizes::<Id<str>>(), (64, 32));
    let ids = [3, 0, u32::MAX].map(|number| Id::<str> { number, of: PhantomData });
    check(&ids, |a, b| a.number.cmp(&b.number)).unwrap();

    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Last<K>(#[sortable(desc)] K)
    where
        K: Copy;
    assert_eq!(sizes::<Last<char>>(), (32, 21));
    assert!(Last('a').to_bits() > Last('b').to_bits());
    assert_eq!(Last::from_bits(Last('x').to_bits()), Last('x'));
}

#[test]
fn a_packed_struct_is_a_key() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    #[repr(C, packed)]
    struct Packed {
        tag: u8,
        number: i64,
    }
    holds(&[i64::MIN, -1, 0, i64::MAX].map(|number| [0, 1].map(|tag| Packed { tag, number })).concat());
}

#[test]
fn what_a_field_type_leaves_out_is_not_lost() {
    /// Its bits leave the id out, and it says nothing of what is identical.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Scored {
        score: u8,
        id: u32,
    }
    impl Sortable for Scored {
        type Bits = u8;
        fn to_bits(self) -> u8 {
            self.score
        }
        fn from_bits(bits: u8) -> Self {
            Scored { score: bits, id: 0 }
        }
    }
    #[derive(Clone, Copy, Debug, PartialEq, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Entry {
        scored: Scored,
        rank: u8,
    }
    // Sorts move such keys by a permutation.
    const { assert!(!Entry::IS_REBUILT && Entry::IDENTICAL.is_none()) }
}

#[test]
fn bits_of_a_field_beyond_its_width_are_found() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Narrow(u8);
    impl Sortable for Narrow {
        type Bits = u8;
        const WIDTH: u32 = 4;
        fn to_bits(self) -> u8 {
            self.0
        }
        fn from_bits(bits: u8) -> Self {
            Narrow(bits)
        }
    }
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Sortable)]
    #[sortable(crate = polysort_core)]
    struct Holder(Narrow, u8);
    assert_eq!(sizes::<Holder>(), (16, 12));
    assert_eq!(check(&[Holder(Narrow(15), 3), Holder(Narrow(0), 200)], Ord::cmp), Ok(()));
    assert_eq!(check(&[Holder(Narrow(16), 0)], Ord::cmp).unwrap_err().law, "bits fit in WIDTH");
}

#[test]
#[should_panic(expected = "0x3 are not the bits of a variant of Three")]
fn bits_of_no_variant_panic() {
    #[derive(Clone, Copy, Debug, Sortable)]
    #[sortable(crate = polysort_core)]
    #[allow(dead_code, reason = "only the bits matter")]
    enum Three {
        A,
        B,
        C,
    }
    let _ = Three::from_bits(3);
}
