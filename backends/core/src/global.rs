//! One opened device for each backend type.

use crate::sync::{Mutex, MutexGuard, PoisonError};
use crate::{Backend, Error};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// Returns a handle to the shared device of `B`; opens it if there is none or if it is lost.
pub(crate) fn shared<B: Backend>() -> Result<B, Error> {
    static SLOTS: LazyLock<Slots> = LazyLock::new(Slots::default);
    SLOTS.shared()
}

/// The devices, each in the slot of its type: `TypeId` of `B` → `Slot<B>`. This lock is not held while a device opens: a
/// backend may open another one (`Fallback` does).
#[derive(Default)]
pub(crate) struct Slots(Mutex<HashMap<TypeId, Box<dyn Any + Send>>>);

/// The device of one backend type. The lock is held while the device opens, so that it opens once.
type Slot<B> = Arc<Mutex<Option<B>>>;

impl Slots {
    pub(crate) fn shared<B: Backend>(&self) -> Result<B, Error> {
        let slot = self.slot::<B>();
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

    fn slot<B: Backend>(&self) -> Slot<B> {
        let mut slots = lock(&self.0);
        let slot = slots.entry(TypeId::of::<B>()).or_insert_with(|| Box::new(Slot::<B>::default()));
        slot.downcast_ref::<Slot<B>>().expect("the slot of a type holds that type").clone()
    }
}

/// Locks a mutex. A panic while it was held leaves `None` or a whole device, and both can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
