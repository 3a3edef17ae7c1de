//! Each way to sort is tried on each device before it gets a user's data.

use crate::engine::{Data, Engine};
use crate::way::Way;
use polysort_core::plan::{Algorithm, Blocked, Payload, Place, Request, SortPlan};
use polysort_core::{Error, Masks, Spec, Word};

/// Whether requests of this kind are sorted rightly in this way.
pub(crate) async fn check(engine: &mut Engine, request: Request, way: Way) -> Result<(), Error> {
    let algorithm = way.algorithm;
    let request = Request { algorithm, keys: Place::default(), values: Place::default(), ..request };
    match request.key_bits {
        8 => check_words::<u8>(engine, request, way.native).await,
        16 => check_words::<u16>(engine, request, way.native).await,
        32 => check_words::<u32>(engine, request, way.native).await,
        64 => check_words::<u64>(engine, request, way.native).await,
        _ => check_words::<u128>(engine, request, way.native).await,
    }
}

/// Three tiles and a part of one, of few different keys, descending, with the second tile blocked; and what one launch sorts.
async fn check_words<W: Word>(engine: &mut Engine, request: Request, native: bool) -> Result<(), Error> {
    let masks = Masks::float(W::BITS).reversed(W::BITS);
    let request = Request { spec: Spec::new::<W>(masks, 0, W::BITS)?, ..request };
    let plan = SortPlan::new(Request { max: 1, ..request }, &engine.gpu().facts)?;
    let most = engine.gpu().facts.limits(request.payload.words()).longest(size_of::<W>());
    let long = (3 * plan.tile as usize + 17).max(plan.single_tile as usize + 17).min(most as usize);
    let blocked = if plan.algorithm == Algorithm::OneSweep { Blocked::run(1, 2) } else { Blocked::NONE };
    for (count, blocked) in [(long, blocked), (plan.single_tile as usize / 2 + 3, Blocked::NONE)] {
        let request = Request { max: count as u64, blocked, ..request };
        // Few values, in all bits; and the first key again at the end.
        let key = |i: usize| W::truncate((i as u128 % 23).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let keys: Vec<W> = (0..count).map(key).collect();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&i| request.spec.rank(keys[i]));
        let mut sorted = keys.clone();
        let words = request.payload.words() as usize;
        let value = |i: usize| (0..words).map(move |word| (i + word) as u32);
        let mut values: Vec<u32> = match request.payload {
            Payload::Indices => vec![0; count],
            _ => (0..count).flat_map(value).collect(),
        };
        let data = match request.payload {
            Payload::None => Data::Keys(bytemuck::cast_slice_mut(&mut sorted)),
            Payload::Words(_) => Data::Pairs(bytemuck::cast_slice_mut(&mut sorted), bytemuck::cast_slice_mut(&mut values)),
            Payload::Indices => Data::Indices(bytemuck::cast_slice(&sorted), bytemuck::cast_slice_mut(&mut values)),
        };
        engine.sort_untested(request, native, data).await?;
        let right_keys = match request.payload {
            Payload::Indices => sorted == keys,
            _ => sorted.iter().zip(&order).all(|(&key, &i)| key == keys[i]),
        };
        let right =
            right_keys && values.iter().copied().eq(order.iter().take(if words > 0 { count } else { 0 }).flat_map(|&i| value(i)));
        if !right {
            return Err(Error::SelfTest {
                backend: engine.gpu().name(),
                what: format!(
                    "{:?} of keys of {} bits with payload {:?}, native kernels: {native}",
                    plan.algorithm, request.key_bits, request.payload
                ),
                why: format!("{count} keys came out wrong"),
            });
        }
    }
    Ok(())
}
