//! Parquet and Arrow IPC files: rows by several columns, with and without a cap.

use crate::tool::Place;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, TimestampMicrosecondType, UInt32Type};
use arrow_array::{
    Array, DictionaryArray, Float64Array, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray, UInt32Array,
};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use core::cmp::Ordering;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use std::collections::HashMap;
use std::fs::{self, File};
use std::sync::Arc;

const LIMITED: &str = "--memory 1M --temp spill";

/// Rows of a trip: `id` counts them, and the others have ties and nulls.
#[derive(Clone, Debug)]
struct Trip {
    id: u32,
    pickup: Option<i64>,
    fare: Option<f64>,
    city: Option<String>,
}

fn trips(len: u32) -> Vec<Trip> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    };
    let trip = |id| Trip {
        id,
        pickup: (random() % 10 > 0).then(|| random() as i64 % 50 - 25),
        fare: match random() % 12 {
            0 => None,
            1 => Some(f64::NAN),
            2 => Some(-0.0),
            3 => Some(0.0),
            _ => Some((random() % 100) as f64 / 4.0 - 10.0),
        },
        city: (random() % 7 > 0).then(|| format!("{}{}", ["Oslo", "Bern", "São Paulo"][random() as usize % 3], random() % 5)),
    };
    (0..len).map(trip).collect()
}

fn place() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("spill")).expect("a directory");
    place
}

fn schema() -> Schema {
    let fields = vec![
        Field::new("id", DataType::UInt32, false),
        Field::new("pickup", TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC").data_type().clone(), true),
        Field::new("fare", DataType::Float64, true).with_metadata(HashMap::from([("unit".into(), "NOK".into())])),
        Field::new("city", DataType::Utf8, true),
        Field::new("city view", DataType::Utf8View, true),
        Field::new("city code", DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), true),
    ];
    Schema::new_with_metadata(fields, HashMap::from([("origin".into(), "a test".into())]))
}

fn batch(trips: &[Trip]) -> RecordBatch {
    let cities = || trips.iter().map(|trip| trip.city.as_deref());
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(trips.iter().map(|trip| trip.id).collect::<UInt32Array>()),
        Arc::new(trips.iter().map(|trip| trip.pickup).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        Arc::new(trips.iter().map(|trip| trip.fare).collect::<Float64Array>()),
        Arc::new(cities().collect::<StringArray>()),
        Arc::new(cities().collect::<StringViewArray>()),
        Arc::new(cities().collect::<DictionaryArray<Int32Type>>()),
    ];
    RecordBatch::try_new(Arc::new(schema()), columns).expect("the columns fit the schema")
}

/// Writes row groups of 1000 rows, `fare` compressed by Zstandard and without a dictionary, the others compressed by Snappy.
fn write_parquet(place: &Place, name: &str, trips: &[Trip]) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_compression(Compression::SNAPPY)
        .set_column_compression("fare".into(), Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled("fare".into(), false)
        .set_key_value_metadata(Some(vec![KeyValue::new("maker".into(), Some("a test".into()))]))
        .build();
    let file = File::create(place.path(name)).expect("a file");
    let mut writer = ArrowWriter::try_new(file, Arc::new(schema()), Some(properties)).expect("a schema of Parquet");
    trips.chunks(700).for_each(|trips| writer.write(&batch(trips)).expect("it can be written"));
    writer.close().expect("it can be written");
}

/// An Arrow file has one dictionary for a column, so this one has the cities as text.
fn write_arrow(place: &Place, name: &str, trips: &[Trip]) {
    let file = File::create(place.path(name)).expect("a file");
    let whole = batch(trips).project(&[0, 1, 2, 3, 4]).expect("it has these columns");
    let mut writer = FileWriter::try_new(file, &whole.schema()).expect("a schema of Arrow");
    writer.write_metadata("maker", "a test");
    for begin in (0..trips.len()).step_by(700) {
        writer.write(&whole.slice(begin, (trips.len() - begin).min(700))).expect("it can be written");
    }
    writer.finish().expect("it can be written");
}

fn read_parquet(place: &Place, name: &str) -> Vec<RecordBatch> {
    let file = File::open(place.path(name)).expect("it is there");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file").build().expect("a Parquet file");
    reader.map(|batch| batch.expect("a batch")).collect()
}

fn read_arrow(place: &Place, name: &str) -> (Schema, HashMap<String, String>, Vec<RecordBatch>) {
    let reader = FileReader::try_new(File::open(place.path(name)).expect("it is there"), None).expect("an Arrow file");
    let (schema, custom) = (reader.schema().as_ref().clone(), reader.custom_metadata().clone());
    (schema, custom, reader.map(|batch| batch.expect("a batch")).collect())
}

/// Checks that batches have these trips in this order.
fn assert_trips(batches: &[RecordBatch], expected: &[Trip], what: &str) {
    let mut expected_rows = expected.iter();
    for batch in batches {
        let column = |name: &str| batch.column_by_name(name).unwrap_or_else(|| panic!("{what}: no column {name}")).clone();
        let (ids, pickups, fares, cities, views) =
            (column("id"), column("pickup"), column("fare"), column("city"), column("city view"));
        let codes = batch.column_by_name("city code").map(|codes| match codes.as_any_dictionary_opt() {
            Some(codes) => arrow_select::take::take(codes.values(), codes.keys(), None).expect("the keys are valid"),
            None => codes.clone(),
        });
        for row in 0..batch.num_rows() {
            let trip = expected_rows.next().expect("no more rows than expected");
            assert_eq!(ids.as_primitive::<UInt32Type>().value(row), trip.id, "{what}: {trip:?}");
            let pickups = pickups.as_primitive::<TimestampMicrosecondType>();
            assert_eq!(pickups.is_valid(row).then(|| pickups.value(row)), trip.pickup, "{what}");
            let fares = fares.as_primitive::<Float64Type>();
            assert_eq!(fares.is_valid(row).then(|| fares.value(row).to_bits()), trip.fare.map(f64::to_bits), "{what}");
            let texts = [cities.as_string::<i32>().is_valid(row).then(|| cities.as_string::<i32>().value(row))]
                .into_iter()
                .chain([views.as_string_view().is_valid(row).then(|| views.as_string_view().value(row))])
                .chain(codes.iter().map(|codes| codes.is_valid(row).then(|| codes.as_string::<i32>().value(row))));
            texts.for_each(|text| assert_eq!(text, trip.city.as_deref(), "{what}"));
        }
    }
    assert_eq!(expected_rows.count(), 0, "{what}: rows are missing");
}

/// Compares values that may be null.
fn compare<T>(a: &Option<T>, b: &Option<T>, nulls_first: bool, values: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => values(a, b),
        (None, None) => Ordering::Equal,
        (None, Some(_)) => {
            if nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (Some(_), None) => {
            if nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}

type Compare = fn(&Trip, &Trip) -> Ordering;

/// What the command line says, and the same as comparisons by std.
const ORDERS: [(&str, Compare); 4] = [
    ("pickup desc nulls last, fare", |a, b| {
        let pickup = compare(&a.pickup, &b.pickup, false, |a, b| b.cmp(a));
        pickup.then(compare(&a.fare, &b.fare, false, f64::total_cmp))
    }),
    ("city nulls first,fare desc", |a, b| {
        let city = compare(&a.city, &b.city, true, Ord::cmp);
        city.then(compare(&a.fare, &b.fare, false, |a, b| b.total_cmp(a)))
    }),
    ("\"city view\" desc nulls first", |a, b| compare(&a.city, &b.city, true, |a, b| b.cmp(a))),
    ("id desc", |a, b| b.id.cmp(&a.id)),
];

fn sorted(trips: &[Trip], compare: Compare) -> Vec<Trip> {
    let mut sorted = trips.to_vec();
    sorted.sort_by(compare);
    sorted
}

/// Sorts a file by an order, which has spaces.
fn sort(place: &Place, by: &str, args: &str) {
    let ran = place.command(args).args(["--by", by]).output().expect("the binary runs");
    assert_eq!((ran.status.code(), &*String::from_utf8_lossy(&ran.stderr)), (Some(0), ""), "{args} --by {by}");
    assert_eq!(fs::read_dir(place.path("spill")).expect("it is there").count(), 0);
}

#[test]
fn parquet() {
    for (len, limits) in [(0, ["", LIMITED]), (1, ["", LIMITED]), (20_000, ["", LIMITED])] {
        let (place, trips) = (place(), trips(len));
        write_parquet(&place, "a.parquet", &trips);
        for (by, compare) in ORDERS {
            for limit in limits {
                sort(&place, by, &format!("sort a.parquet -o b.parquet {limit}"));
                assert_trips(&read_parquet(&place, "b.parquet"), &sorted(&trips, compare), &format!("{len} {by} {limit}"));
            }
        }
    }
}

#[test]
fn by_a_dictionary() {
    let (place, trips) = (place(), trips(5000));
    write_parquet(&place, "a.parquet", &trips);
    let by_city: Compare = |a, b| compare(&a.city, &b.city, false, Ord::cmp);
    for limit in ["", LIMITED] {
        sort(&place, "\"city code\"", &format!("sort a.parquet -o a2.parquet {limit}"));
        assert_trips(&read_parquet(&place, "a2.parquet"), &sorted(&trips, by_city), limit);
    }
}

/// The schema with its metadata, the metadata of the file, the rows of a row group, and the compression and the dictionary of each column stay.
#[test]
fn what_a_parquet_file_says_stays() {
    let (place, trips) = (place(), trips(4500));
    write_parquet(&place, "a.parquet", &trips);
    for limit in ["", LIMITED] {
        sort(&place, "pickup desc nulls last, fare", &format!("sort a.parquet -o b.parquet {limit}"));
        let open =
            |name| ParquetRecordBatchReaderBuilder::try_new(File::open(place.path(name)).expect("a file")).expect("Parquet");
        let (a, b) = (open("a.parquet"), open("b.parquet"));
        assert_eq!(a.schema(), b.schema());
        assert_eq!(a.schema().metadata()["origin"], "a test");
        let entry = |file: &ParquetRecordBatchReaderBuilder<File>| {
            let entries = file.metadata().file_metadata().key_value_metadata().expect("it has some").clone();
            entries.into_iter().filter(|entry| entry.key == "maker").collect::<Vec<_>>()
        };
        assert_eq!((entry(&a), entry(&b).len()), (entry(&b), 1));
        for group in b.metadata().row_groups() {
            assert!(group.num_rows() <= 1000);
            let columns = |group: &RowGroupMetaData| {
                let dictionary = |column: &ColumnChunkMetaData| column.dictionary_page_offset().is_some();
                group.columns().iter().map(|column| (column.compression(), dictionary(column))).collect::<Vec<_>>()
            };
            let expected = columns(a.metadata().row_group(0));
            assert_eq!((columns(group), expected[2].1, expected[3].1), (expected, false, true));
            let order = group.sorting_columns().expect("it says how it is sorted");
            assert_eq!((order.len(), order[0].column_idx, order[0].descending, order[0].nulls_first), (2, 1, true, false));
            assert_eq!((order[1].column_idx, order[1].descending), (2, false));
        }
        assert!(!limit.is_empty() || b.metadata().num_row_groups() == 5);
    }
}

#[test]
fn arrow_files_and_conversions() {
    let (place, trips) = (place(), trips(20_000));
    write_arrow(&place, "a.arrow", &trips);
    write_parquet(&place, "a.parquet", &trips);
    for (by, compare) in ORDERS {
        for limit in ["", LIMITED] {
            let expected = sorted(&trips, compare);
            sort(&place, by, &format!("sort a.arrow -o a.feather {limit}"));
            let (schema, custom, batches) = read_arrow(&place, "a.feather");
            assert_trips(&batches, &expected, by);
            assert_eq!(schema, read_arrow(&place, "a.arrow").0);
            assert_eq!(custom["maker"], "a test");
            sort(&place, by, &format!("sort a.arrow -o b.parquet {limit}"));
            assert_trips(&read_parquet(&place, "b.parquet"), &expected, by);
            // The dictionary becomes a column of text.
            sort(&place, by, &format!("sort a.parquet -o b.arrow {limit}"));
            assert_trips(&read_arrow(&place, "b.arrow").2, &expected, by);
        }
    }
    // The output may be the input.
    sort(&place, "id desc", &format!("sort a.arrow -o a.arrow {LIMITED}"));
    assert_trips(&read_arrow(&place, "a.arrow").2, &sorted(&trips, ORDERS[3].1), "in place");
}

#[test]
fn wrong_files_and_arguments_are_refused() {
    let place = place();
    write_parquet(&place, "a.parquet", &trips(2000));
    place.write("no.parquet", "not a Parquet file");
    place.write("no.arrow", "not an Arrow file");
    place.write("t.csv", "a\n1\n");
    let half = place.read("a.parquet");
    place.write("half.parquet", &half[..half.len() / 2]);
    let before = place.files();
    for (args, words) in [
        ("sort a.parquet -o b.parquet", "add --by with the columns of a.parquet to sort by"),
        (
            "sort a.parquet --by town -o b.parquet",
            "a.parquet: there is no column town; it has id, pickup, fare, city, city view, city code",
        ),
        ("sort a.parquet --by id,fare,down -o b.parquet", "there is no column down"),
        ("sort a.parquet --by id, -o b.parquet", "a column is missing"),
        ("sort a.parquet --by id -o b.csv", "b.csv: the rows of a.parquet can only be written as .parquet or .arrow"),
        ("sort a.parquet --by id --descending -o b.parquet", "cannot be used with"),
        ("sort t.csv --by a -o b.csv", "--by is for .parquet and .arrow files"),
        ("sort no.parquet --by id -o b.parquet", "cannot read no.parquet"),
        ("sort no.arrow --by id -o b.arrow", "cannot read no.arrow"),
        ("sort half.parquet --by id -o b.parquet", "cannot read half.parquet"),
        ("sort none.parquet --by id -o b.parquet", "cannot read none.parquet"),
        ("sort a.parquet --by id -o b.parquet --memory 10K", "is too large for the cap: give a larger --memory"),
        ("sort a.parquet --by id -o b.parquet --memory 1M --temp nowhere", "cannot create spill files in nowhere"),
    ] {
        let ran = place.run(args);
        assert_eq!((ran.code, &*ran.stdout), (2, &b""[..]), "{args}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args}: {}", ran.stderr);
        assert!(place.files() == before, "{args}");
    }
}

/// A full disk, for the spill file and for the output.
#[test]
#[cfg(unix)]
fn a_full_disk_is_an_error() {
    let place = place();
    write_parquet(&place, "a.parquet", &trips(20_000));
    let before = place.files();
    for (limit, words) in [
        (LIMITED, "polysort: a spill file in spill could not be written"),
        ("", "polysort: cannot write b.arrow; nothing was changed: "),
    ] {
        let ran = place.shell(&format!("ulimit -f 100; trap '' XFSZ; polysort sort a.parquet --by id -o b.arrow {limit}"));
        assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
        assert!(place.files() == before && fs::read_dir(place.path("spill")).expect("it is there").count() == 0);
    }
}

/// The whole process, for rows of 10 times the cap.
#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_memory_is_within_the_cap_and_64_mib() {
    use crate::limited_faults::{peak, start};
    const CAP: usize = 8 << 20;
    let (place, trips) = (place(), trips(85_000));
    let fields = [("id", DataType::UInt32), ("text", DataType::Utf8)].map(|(name, kind)| Field::new(name, kind, false));
    let file = File::create(place.path("a.parquet")).expect("a file");
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10_000)).set_dictionary_enabled(false).build();
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).expect("a schema of Parquet");
    for trips in trips.chunks(1000) {
        let ids = Arc::new(trips.iter().map(|trip| trip.id.wrapping_mul(0x9e37_79b9)).collect::<UInt32Array>());
        let texts = Arc::new(trips.iter().map(|trip| Some(format!("{:>1000}", trip.id))).collect::<StringArray>());
        writer.write(&RecordBatch::try_new(schema.clone(), vec![ids, texts]).expect("rows")).expect("it can be written");
    }
    writer.close().expect("it can be written");
    for output in ["b.parquet", "b.arrow"] {
        let peak = peak(start(&place, &format!("sort a.parquet --by id -o {output} --memory 8M --temp spill")));
        assert!(peak > CAP / 2 && peak <= CAP + (64 << 20), "{output}: a peak of {} MiB", peak >> 20);
    }
    let rows = read_parquet(&place, "b.parquet");
    let ids = rows.iter().flat_map(|rows| rows.column(0).as_primitive::<UInt32Type>().values());
    assert!(ids.clone().is_sorted() && ids.count() == 85_000);
}
