#!/usr/bin/env python3
"""Validate rdmactl's output with programs and schemas that rdmactl did not write.

    validate.py json|junit|prometheus DIR      every file of DIR; exit 0 all fine, 1 some not, 77 skipped with the reason
"""
import json, os, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def json_schema():
    try:
        import jsonschema
    except ImportError:
        skip("the Python package jsonschema is not installed")
    with open(os.path.join(HERE, "../src/report/check/v1.schema.json")) as f:
        validator = jsonschema.Draft202012Validator(json.load(f))
    return lambda text: validator.validate(json.loads(text))


def junit():
    try:
        import xmlschema
    except ImportError:
        skip("the Python package xmlschema is not installed")
    path = os.environ.get("JUNIT_XSD", os.path.join(HERE, "../target/junit-10.xsd"))
    if not os.path.exists(path):
        skip(f"{path} is not there (.ci/run fetches it)")
    return xmlschema.XMLSchema(path).validate


def prometheus():
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        skip("the Python package prometheus-client is not installed")

    def parse(text):
        names = [m.name for m in text_string_to_metric_families(text)]
        assert len(names) == len(set(names)) and len(names) >= 5, names

    return parse


def main():
    kind, folder = sys.argv[1:3]
    validate = {"json": json_schema, "junit": junit, "prometheus": prometheus}[kind]()
    files, bad = sorted(os.listdir(folder)), 0
    for name in files:
        with open(os.path.join(folder, name)) as f:
            text = f.read()
        try:
            validate(text)
        except Exception as e:
            bad += 1
            print(f"{name}: {str(e)[:400]}")
    print(f"{kind}: {len(files) - bad} of {len(files)} valid")
    sys.exit(1 if bad or not files else 0)


main()
