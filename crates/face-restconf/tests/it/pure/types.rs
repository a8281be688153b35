//! Values of every type: parsing, canonical forms, refusals.

use allod_face_restconf::tree::LeafValue;
use allod_face_restconf::yang::ModuleNames;

use crate::pure::fixture::{SCHEMA, id};

fn read(leaf: &str, text: &str) -> Result<LeafValue, String> {
    let node = SCHEMA.node(id(&format!("/toy:top/item/{leaf}")));
    node.ty.as_ref().unwrap().read(text, &ModuleNames { schema: &SCHEMA, own: node.module })
}

#[test]
fn values_have_a_canonical_form() {
    let text = |text: &str| LeafValue::text(text);
    let table = [
        ("size", "100", LeafValue::Uint(100)),
        ("size", " 0x64 ", LeafValue::Uint(100)),
        ("size", "+0144", LeafValue::Uint(100)),
        ("size", "200", LeafValue::Uint(200)),
        ("small", "-128", LeafValue::Int(-128)),
        ("big", "-9223372036854775808", LeafValue::Int(i64::MIN)),
        ("wide", "18446744073709551615", LeafValue::Uint(u64::MAX)),
        ("ratio", "1.50", text("1.5")),
        ("ratio", "-0.05", text("-0.05")),
        ("ratio", "3", text("3.0")),
        ("share", "100", LeafValue::Uint(100)),
        ("flag", "", LeafValue::Empty),
        ("on", "true", LeafValue::Bool(true)),
        ("mode", "slow", text("slow")),
        ("caps", " write  read", text("read write")),
        ("caps", "", text("")),
        ("kind", "dark-red", text("toy:dark-red")),
        ("kind", "toy:red", text("toy:red")),
        ("address", "2001:DB8::0:1", text("2001:db8::1")),
        ("net", "10.1.2.3/8", text("10.0.0.0/8")),
        ("blob", "AAEC AwA=", text("AAECAwA=")),
        ("friend", "a name", text("a name")),
        ("where", "/toy:top/item[name='a:b']", text("/toy:top/item[name='a:b']")),
        ("either", "255", LeafValue::Uint(255)),
        ("either", "256", LeafValue::Int(256)),
        ("either", "never", text("never")),
    ];
    for (leaf, given, value) in table {
        let expected = if leaf == "blob" { Err(()) } else { Ok(value) };
        match expected {
            Ok(value) => assert_eq!(read(leaf, given), Ok(value), "{leaf} {given}"),
            // Five bytes exceed the maximum length.
            Err(()) => {
                assert_eq!(read(leaf, given).unwrap_err(), "5 bytes are outside the length 1..4")
            }
        }
    }
}

#[test]
fn invalid_values_are_refused() {
    let table = [
        ("size", "0"),
        ("size", "101"),
        ("size", "-1"),
        ("size", "--1"),
        ("size", "+-1"),
        ("size", "1.0"),
        ("size", "0x"),
        ("size", "08"),
        ("size", ""),
        ("small", "128"),
        ("wide", "18446744073709551616"),
        ("wide", "99999999999999999999999999999999999999999999"),
        ("ratio", "1.234"),
        ("ratio", ".5"),
        ("ratio", "1."),
        ("ratio", "1e3"),
        ("ratio", "92233720368547758.08"),
        ("share", "101"),
        ("flag", "x"),
        ("on", "TRUE"),
        ("on", "1"),
        ("mode", "Fast"),
        ("caps", "read execute"),
        ("kind", "colour"),
        ("kind", "green"),
        ("kind", "more:red"),
        ("address", "10.0.0.300"),
        ("address", "host"),
        ("net", "10.0.0.0"),
        ("blob", ""),
        ("blob", "A==="),
        ("blob", "AA=A"),
        ("where", "toy:top"),
        ("where", "/none:top"),
        ("where", "/toy:top[name='\u{1}']"),
        ("name", "\0"),
        ("name", "\u{b}"),
        ("name", "\u{ffff}"),
        ("name", "\u{fdd0}"),
        ("where", "/toy:top[name='a]"),
        ("either", "always"),
        ("name", ""),
        ("name", "123456789012345678901"),
    ];
    for (leaf, text) in table {
        assert!(read(leaf, text).is_err(), "{leaf} {text}");
    }
    assert_eq!(read("size", "0").unwrap_err(), "'0' is not a value of type uint16 (1..100 | 200)");
    assert_eq!(read("share", "x").unwrap_err(), "'x' is not a value of type percent (0..100)");
    let long = "x".repeat(100_000);
    assert!(
        read("size", &long).unwrap_err().len() < 200,
        "a long value is truncated in the message"
    );
}

#[test]
fn typedefs_provide_defaults() {
    assert_eq!(SCHEMA.node(id("/toy:top/item/share")).default, Some(LeafValue::Uint(50)));
    assert_eq!(SCHEMA.node(id("/toy:top/item/size")).default, Some(LeafValue::Uint(7)));
}
