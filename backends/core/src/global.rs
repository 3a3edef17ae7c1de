//! One opened device for each backend type.

use crate::{Backend, Error};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The device of one backend type. The lock is held while the device opens, so that it opens once.
type Slot<B> = Arc<Mutex<Option<B>>>;

/// `TypeId` of `B` → `Slot<B>`. This lock is not held while a device opens: a backend may open another one (`Fallback` does).
static SLOTS: Mutex<Option<HashMap<TypeId, Box<dyn Any + Send>>>> = Mutex::new(None);

/// Returns a handle to the shared device of `B`; opens it if there is none or if it is lost.
pub(crate) fn shared<B: Backend>() -> Result<B, Error> {
    let slot = slot::<B>();
    let mut device = lock(&slot);
    match &*device {
        Some(open) if !open.is_lost() => Ok(open.clone()),
        _ => {
            *device = None;
            let opened = B::open()?;
            *device = Some(opened.clone());
            Ok(opened)
        }
    }
}

fn slot<B: Backend>() -> Slot<B> {
    let mut slots = lock(&SLOTS);
    let slot = slots.get_or_insert_default().entry(TypeId::of::<B>()).or_insert_with(|| Box::new(Slot::<B>::default()));
    slot.downcast_ref::<Slot<B>>().expect("the slot of a type holds that type").clone()
}

/// Locks a mutex. A panic while it was held leaves `None` or a whole device, and both can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
