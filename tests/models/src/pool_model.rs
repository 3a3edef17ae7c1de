//! Calls that share a pool: an item is in one place only, and what is dropped was not kept.

use crate::pool::{Pool, Taken};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::sync::Arc;

#[derive(Clone, Default)]
struct Item(Arc<AtomicBool>);

/// Takes an item or makes one, and puts it back.
fn call(pool: &Pool<Item>, bytes: u64) -> usize {
    let taken = pool.take(|_| ()).unwrap_or_else(|| Taken::new(Item::default()));
    assert!(!taken.item.0.swap(true, Ordering::SeqCst), "two calls have one item");
    taken.item.0.store(false, Ordering::SeqCst);
    pool.put(taken, bytes, bytes).len()
}

#[test]
fn an_item_is_in_one_place() {
    loom::model(|| {
        let pool = Arc::new(Pool::new(100));
        let others = [(); 2].map(|()| {
            let pool = pool.clone();
            thread::spawn(move || call(&pool, 60))
        });
        let mut dropped = call(&pool, 60);
        for other in others {
            dropped += other.join().expect("no thread panics");
        }
        // Two items are more than the pool keeps.
        assert!(pool.find(|item| Some(item.0.load(Ordering::SeqCst))) == Some(false));
        let kept = pool.clear().len();
        assert_eq!(kept, 1);
        assert!(dropped <= 2, "{dropped} items were dropped");
        assert_eq!(pool.bytes(), 0);
    });
}
