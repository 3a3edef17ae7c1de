use polysort_core::Sortable;

#[derive(Clone, Copy)]
struct Wide(u8);

impl Sortable for Wide {
    type Bits = u8;
    const WIDTH: u32 = 9;
    fn to_bits(self) -> u8 {
        self.0
    }
    fn from_bits(bits: u8) -> Self {
        Wide(bits)
    }
}

#[derive(Clone, Copy, Sortable)]
#[sortable(crate = polysort_core)]
struct Holder {
    small: u8,
    wide: Wide,
}

fn main() {}
