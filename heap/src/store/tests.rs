//! Tests of columns that are larger than memory.

use super::*;

#[test]
fn columns_larger_than_memory_keep_their_numbers() {
    let mut store = Store::new(0);
    let length = 40 * PAGE;
    let fixed = store.column(length);
    let mut grown = store.column(0);
    let value = |at: usize| (at as u32).wrapping_mul(2_654_435_769);
    for at in 0..length {
        store
            .push(&mut grown, value(at))
            .expect("the store has room");
        store
            .set(&fixed, at * 7 % length, !value(at))
            .expect("the store has room");
    }
    assert!(store.owners.len() == 4 && store.slots > 70);
    for at in (0..length).rev() {
        let found = store
            .get(&fixed, at * 7 % length)
            .expect("the store is readable");
        assert_eq!(found, !value(at));
        assert_eq!(
            store.pop(&mut grown).expect("the store is readable"),
            value(at)
        );
    }
    // Freed pages are reused, and then contain zeros.
    store.free(fixed);
    let slots = store.slots;
    let again = store.column(length);
    for at in 0..length {
        assert_eq!(store.get(&again, at).expect("the store is readable"), 0);
        store.set(&again, at, 1).expect("the store has room");
    }
    assert_eq!((store.owners.len(), store.slots), (4, slots));
}

#[test]
fn memory_that_is_given_back_goes_to_the_file() {
    let mut store = Store::new(64 * BYTES as u64);
    let column = store.column(32 * PAGE);
    let freed = store.column(16 * PAGE);
    for page in 0..32 {
        store
            .set(&column, page * PAGE, 100 + page as u32)
            .expect("the store has room");
        store
            .set(&freed, page / 2 * PAGE, 1)
            .expect("the store has room");
    }
    store.free(freed);
    assert!(store.owners.len() == 48 && store.file.is_none());
    store
        .give_back(30 * BYTES as u64)
        .expect("the store has room");
    assert!(store.owners.len() == 18 && store.words.len() == 18 * PAGE);
    assert!(store.words.capacity() < 20 * PAGE);
    store.give_back(u64::MAX).expect("the store has room");
    for page in (0..32).chain(0..32) {
        let found = store
            .get(&column, page * PAGE)
            .expect("the store is readable");
        assert_eq!(found, 100 + page as u32);
    }
    assert_eq!(store.owners.len(), FEWEST_FRAMES);
    let more = store.column(8 * PAGE);
    for page in 0..8 {
        store
            .set(&more, page * PAGE, 7)
            .expect("the store has room");
    }
    assert_eq!(store.owners.len(), FEWEST_FRAMES);
}

#[test]
fn there_is_no_file_until_memory_is_full() {
    let mut store = Store::new(8 * BYTES as u64);
    let column = store.column(16 * PAGE);
    for page in 0..8 {
        store
            .set64(&column, page * PAGE / 2, 5 << 40)
            .expect("the store has room");
    }
    assert!(store.file.is_none());
    assert_eq!(
        store
            .get64(&column, PAGE / 2)
            .expect("the store is readable"),
        5 << 40
    );
    store.folder = "/nowhere".into();
    let error = store
        .set(&column, 8 * PAGE, 1)
        .expect_err("the folder does not exist");
    let text = error.to_string();
    assert!(
        text.starts_with("temporary file in /nowhere, for data that does not fit into memory"),
        "{text}"
    );
    store.folder = std::env::temp_dir();
    store.set(&column, 8 * PAGE, 1).expect("the store has room");
    assert_eq!(
        store
            .get64(&column, PAGE / 2)
            .expect("the store is readable"),
        5 << 40
    );
}

#[test]
fn a_page_that_did_not_change_comes_back_again() {
    let mut store = Store::new(0);
    let column = store.column(12 * PAGE);
    for page in 0..12 {
        let value = 100 + page as u32;
        store
            .set(&column, page * PAGE, value)
            .expect("the store has room");
    }
    // The last four pages were in memory only. Reading each of them moves another page to the
    // file.
    for _ in 0..3 {
        for page in 0..12 {
            let found = store
                .get(&column, page * PAGE)
                .expect("the store is readable");
            assert_eq!(found, 100 + page as u32);
        }
    }
    assert_eq!(store.slots, 12);
    assert_eq!(store.get(&column, 0).expect("the store is readable"), 100);
    let place = position(store.columns[0][0].slot);
    let file = store.file.as_ref().expect("the store has a file");
    file.write_all_at(&7_u32.to_ne_bytes(), place)
        .expect("the store has room");
    for page in 1..12 {
        store
            .get(&column, page * PAGE)
            .expect("the store is readable");
    }
    // The page is unchanged since it was written, so it is read from the file.
    assert_eq!(store.get(&column, 0).expect("the store is readable"), 7);
}

#[test]
fn a_page_stays_while_its_first_number_comes_and_goes() {
    let mut store = Store::new(0);
    let mut column = store.column(0);
    for at in 0..=PAGE {
        store
            .push(&mut column, at as u32)
            .expect("the store has room");
    }
    let frame = store.columns[0][1].frame;
    for _ in 0..3 {
        assert_eq!(
            store.pop(&mut column).expect("the store is readable"),
            PAGE as u32
        );
        assert_eq!(store.columns[0][1].frame, frame);
        store
            .push(&mut column, PAGE as u32)
            .expect("the store has room");
    }
    for at in (0..=PAGE).rev() {
        assert_eq!(
            store.pop(&mut column).expect("the store is readable"),
            at as u32
        );
    }
    // The second page was freed, the first was not.
    assert_eq!((store.columns[0].len(), store.free_frames.len()), (1, 1));
}

#[test]
fn a_failed_write_takes_no_room() {
    let mut store = Store::new(0);
    let column = store.column(8 * PAGE);
    for page in 0..4 {
        store
            .set(&column, page * PAGE, 1)
            .expect("the store has room");
    }
    // The file is open for reading only.
    let file = std::env::current_exe().and_then(File::open);
    store.file = Some(file.expect("this executable can be opened"));
    for _ in 0..3 {
        let error = store
            .set(&column, 4 * PAGE, 1)
            .expect_err("the file is read-only");
        assert!(error.to_string().starts_with("temporary file"), "{error}");
    }
    assert_eq!((store.slots, store.free_slots.len()), (1, 1));
    // The page that could not be written is still in memory.
    store.file = None;
    store.set(&column, 4 * PAGE, 1).expect("the store has room");
    for page in 0..5 {
        assert_eq!(
            store
                .get(&column, page * PAGE)
                .expect("the store is readable"),
            1
        );
    }
}
