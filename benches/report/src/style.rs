//! The color and the dashes of each system's line.
//!
//! Colors are those of Okabe and Ito, which color-blind readers can tell apart. Ours are black; several of ours differ by their dashes.

use crate::contest::{COPY, OURS, is_ours};
use plotters::style::RGBColor;

/// How a system is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// The color.
    pub color: RGBColor,
    /// The width of a line in pixels.
    pub width: u32,
    /// The length of a dash in pixels, or none for a solid line.
    pub dash: Option<i32>,
}

const BLACK: RGBColor = RGBColor(0, 0, 0);
const GRAY: RGBColor = RGBColor(153, 153, 153);
const ORANGE: RGBColor = RGBColor(230, 159, 0);
const SKY: RGBColor = RGBColor(86, 180, 233);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const PURPLE: RGBColor = RGBColor(204, 121, 167);
const BLUE: RGBColor = RGBColor(0, 114, 178);
const VERMILION: RGBColor = RGBColor(213, 94, 0);

/// The systems that have a color of their own.
const KNOWN: [(&str, RGBColor); 11] = [
    ("std", GRAY),
    ("rayon", ORANGE),
    ("rdst", SKY),
    ("radsort", GREEN),
    ("voracious", PURPLE),
    ("turbosort", BLUE),
    ("x86-simd-sort", VERMILION),
    ("cub", VERMILION),
    ("torch", BLUE),
    ("lampshade", GREEN),
    ("wgpu_sort", PURPLE),
];

/// The colors of other systems, in turn.
const OTHERS: [RGBColor; 6] = [BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY];

/// The lengths of dashes, in turn.
const DASHES: [i32; 3] = [8, 3, 14];

impl Style {
    /// Returns a solid line of a color, as wide as ours if it `is_ours`.
    pub const fn solid(color: RGBColor, is_ours: bool) -> Self {
        Self { color, width: if is_ours { 3 } else { 1 }, dash: None }
    }

    /// Returns the style of each of the names of one figure.
    pub(crate) fn of_all(names: &[String]) -> Vec<Self> {
        let (mut ours, mut others) = (0, 0);
        let next = |count: &mut usize| {
            *count += 1;
            *count - 1
        };
        let style = |name: &String| {
            if is_ours(name) {
                let at = next(&mut ours);
                return Self { dash: at.checked_sub(1).map(|at| DASHES[at % DASHES.len()]), ..Self::solid(BLACK, true) };
            }
            let known = KNOWN.iter().find(|(known, _)| known == name).map(|(_, color)| *color);
            match known {
                Some(color) => Self { width: 2, ..Self::solid(color, false) },
                None if name == COPY => Self { color: GRAY, width: 2, dash: Some(4) },
                // A part of the rate of a copy.
                None if name.starts_with(COPY) => Self { color: RGBColor(110, 110, 110), width: 2, dash: Some(1) },
                None if name.starts_with(OURS) => Self { color: RGBColor(110, 110, 110), width: 2, dash: Some(3) },
                None => {
                    let at = next(&mut others);
                    let dash = (at / OTHERS.len()).checked_sub(1).map(|turn| DASHES[turn % DASHES.len()]);
                    Self { color: OTHERS[at % OTHERS.len()], width: 2, dash }
                }
            }
        };
        names.iter().map(style).collect()
    }
}

/// The systems of the plot of the CPU backend, ours first, each with its style.
pub const CPU: [(&str, Style); 8] = [
    (OURS, Style::solid(BLACK, true)),
    ("std", Style::solid(GRAY, false)),
    ("rayon", Style::solid(ORANGE, false)),
    ("rdst", Style::solid(SKY, false)),
    ("radsort", Style::solid(GREEN, false)),
    ("voracious", Style::solid(PURPLE, false)),
    ("turbosort", Style::solid(BLUE, false)),
    ("x86-simd-sort", Style::solid(VERMILION, false)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_systems_of_a_figure_look_alike() {
        let mut names: Vec<String> = ["polysort auto", "polysort rayon", "polysort wgpu", COPY].map(String::from).into();
        names.extend(KNOWN[..7].iter().map(|(name, _)| name.to_string()));
        let styles = Style::of_all(&names);
        for (at, style) in styles.iter().enumerate() {
            assert_eq!(styles.iter().position(|other| other == style), Some(at), "{}", names[at]);
        }
        let others: Vec<String> = (0..12).map(|at| format!("torch {at}")).collect();
        let styles = Style::of_all(&others);
        assert!((0..12).all(|at| styles.iter().position(|other| *other == styles[at]) == Some(at)));
    }
}
