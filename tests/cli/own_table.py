"""A small table of a user, and its description."""

TABLE = """\
id,age,town,day,sick
P1,31,Oslo,2020-01-05,yes
P2,45,"Rome, north",2020-02-05,no
P3,,Oslo,2021-01-05,no
P4,17.5,NA,,yes
P5,60,Bergen,2022-03-01,no
"""
DESCRIPTION = """\
n_rows: 5
files: {train: {local: patients.csv}}
parser: {kind: delimited, header: true}
missing: ["", NA]
columns:
  - name: age
    kind: numeric
    bounds: [0, 120]
    missing: bin
  - name: town
    kind: text
    groups: [Oslo, Bergen]
  - name: day
    kind: date
    bounds: [2020-01-01, 2023-12-31]
    missing: bin
label: {column: sick, positive: "yes", negative: "no"}
"""
