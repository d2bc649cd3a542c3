package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// events is the output of go test -json for five packages. One has a skipped subtest, one was killed in the middle of a
// test, one does not build, and one has no tests. The last one has no further events, because the test runner was
// killed.
const events = `
{"Action":"start","Package":"github.com/sliceshift/sliceshift/pdb"}
{"Action":"run","Package":"github.com/sliceshift/sliceshift/pdb","Test":"TestSplit"}
{"Action":"output","Package":"github.com/sliceshift/sliceshift/pdb","Test":"TestSplit","Output":"--- PASS\n"}
{"Action":"skip","Package":"github.com/sliceshift/sliceshift/pdb","Test":"TestSplit/rare","Elapsed":0}
{"Action":"pass","Package":"github.com/sliceshift/sliceshift/pdb","Test":"TestSplit","Elapsed":12.5}
{"Action":"pass","Package":"github.com/sliceshift/sliceshift/pdb","Elapsed":12.6}
{"Action":"run","Package":"github.com/sliceshift/sliceshift/volumes","Test":"TestEndless"}
{"Action":"run","Package":"github.com/sliceshift/sliceshift/volumes","Test":"TestEndless/case"}
{"Action":"output","Package":"github.com/sliceshift/sliceshift/volumes","Test":"TestEndless/case","Output":"=== RUN   TestEndless/case\n"}
{"Action":"output","Package":"github.com/sliceshift/sliceshift/volumes","Test":"TestEndless/case","Output":"    endless_test.go:7: two lines:\n"}
{"Action":"output","Package":"github.com/sliceshift/sliceshift/volumes","Test":"TestEndless/case","Output":"        the second\n"}
{"Action":"fail","Package":"github.com/sliceshift/sliceshift/volumes","Elapsed":3}
{"ImportPath":"github.com/sliceshift/sliceshift/slices","Action":"build-fail"}
{"Action":"fail","Package":"github.com/sliceshift/sliceshift/slices","Elapsed":0,"FailedBuild":"github.com/sliceshift/sliceshift/slices"}
{"Action":"start","Package":"github.com/sliceshift/sliceshift/internal/version"}
{"Action":"skip","Package":"github.com/sliceshift/sliceshift/internal/version","Elapsed":0}
{"Action":"start","Package":"github.com/sliceshift/sliceshift/slices/decide"}
`

func TestCount(t *testing.T) {
	got, err := count(strings.NewReader(events))
	if err != nil {
		t.Fatal(err)
	}
	want := []tested{
		{Package: module + "/pdb", Tests: counts{Passed: 1, Skipped: 1}, Took: 12600 * time.Millisecond},
		{Package: module + "/volumes", Tests: counts{Failed: 2}, Broken: true, Took: 3 * time.Second, Failures: []failure{
			{Test: "TestEndless/case", Said: []string{"endless_test.go:7: two lines:", "the second"}},
		}},
		{Package: module + "/slices", Broken: true},
		{Package: module + "/slices/decide", Broken: true},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(tested{}), cmpopts.SortSlices(func(a, b tested) bool { return a.Package < b.Package })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := count(strings.NewReader("panic: no JSON")); err == nil {
		t.Error("what is no event is counted")
	}
	if none, err := readTests(t.TempDir() + "/none.json"); err != nil || none != nil {
		t.Errorf("a stage without tests has %v: %v", none, err)
	}
}

// TestKilled: go tool exits with 0 if a signal ends its tool, for example when memory runs out. A package that has not
// ended, or without any output, has not passed.
func TestKilled(t *testing.T) {
	silent := t.TempDir() + "/unit.json"
	if err := os.WriteFile(silent, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTests(silent); !errors.Is(err, errNoTests) {
		t.Errorf("a stage whose tests say nothing: %v", err)
	}
	begun := `{"Action":"start","Package":"pdb"}` + "\n"
	for name, tc := range map[string]struct {
		events string
		want   error
	}{
		"passed":            {begun + `{"Action":"pass","Package":"pdb","Elapsed":1}`, nil},
		"without tests":     {begun + `{"Action":"skip","Package":"pdb","Elapsed":1}`, nil},
		"not heard of":      {begun, errNotEnded},
		"in mid-test":       {begun + `{"Action":"run","Package":"pdb","Test":"TestSplit"}`, errNotEnded},
		"failed":            {begun + `{"Action":"fail","Package":"pdb","Elapsed":1}`, errNotEnded},
		"with a failed one": {`{"Action":"fail","Package":"pdb","Test":"TestSplit"}`, errNotEnded},
	} {
		all, err := count(strings.NewReader(tc.events))
		if got := sound(all); err != nil || !errors.Is(got, tc.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestTable(t *testing.T) {
	lint := row{Stage: "lint", Took: 40 * time.Second}
	unit := row{Stage: "unit", Took: 75 * time.Second, Tested: []tested{
		{Package: module + "/migration", Tests: counts{Passed: 500}, Took: 42 * time.Second},
		{Package: module + "/pdb", Tests: counts{Passed: 70, Skipped: 1}, Took: time.Second},
	}}
	broken := row{Stage: "unit", Took: 75 * time.Second, Failed: "exit status 2", Tested: []tested{
		{Package: module + "/migration", Tests: counts{Passed: 500}, Took: 42 * time.Second},
		{Package: module + "/pdb", Tests: counts{Passed: 69, Failed: 1}, Broken: true, Failures: []failure{
			{Test: "TestSplit", Said: []string{"split_test.go:7: 1, want 2"}},
		}},
	}}
	away := row{Stage: "moves on kind", NotRun: "docker cannot be had on this machine"}
	for name, tc := range map[string]struct {
		rows      []row
		ok, whole bool
		want      string
	}{
		"all of it": {rows: []row{lint, unit}, ok: true, whole: true, want: `
stage        passed  failed  skipped  seconds  result
lint                                  40       ok
unit         570     0       1        75       ok
  migration  500     0       0        42       
Tests: 570 passed, 0 failed, 1 skipped
==> ok: all of 2 stages after 120 s
`},
		"something was not run": {rows: []row{lint, away}, ok: true, want: `
stage          passed  failed  skipped  seconds  result
lint                                    40       ok
moves on kind                                    NOT RUN: docker cannot be had on this machine
Tests: 0 passed, 0 failed, 0 skipped
==> ok, but 1 of 2 stages were NOT RUN after 120 s
`},
		"something failed": {rows: []row{broken, away}, want: `
stage          passed  failed  skipped  seconds  result
unit           569     1       0        75       FAILED: exit status 2
  migration    500     0       0        42       
  pdb          69      1       0        0        
moves on kind                                    NOT RUN: docker cannot be had on this machine
FAILED pdb.TestSplit
    split_test.go:7: 1, want 2
Tests: 569 passed, 1 failed, 0 skipped
==> FAILED: unit; 1 of 2 stages were NOT RUN after 120 s
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			ok, whole := printTable(&out, tc.rows, 2*time.Minute)
			if ok != tc.ok || whole != tc.whole {
				t.Errorf("ok %t, whole %t, want %t and %t", ok, whole, tc.ok, tc.whole)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRemarks(t *testing.T) {
	said := &remarks{}
	said.hear("=== RUN   TestSplit\n")
	said.hear("what nobody has said with a test's words\n")
	for i := range mostRemarks + 2 {
		said.hear(fmt.Sprintf("    split_test.go:%d: %s\n", i, strings.Repeat("x", 2*mostRunes)))
		for range 2 * mostLines {
			said.hear("        more\n")
		}
	}
	said.hear("--- FAIL: TestSplit (0.00s)\n")
	said.hear("after it\n")
	if len(said.lines) != mostRemarks*mostLines || !strings.HasPrefix(said.lines[0], "split_test.go:2: xxx") || len(said.lines[0]) > mostRunes+10 {
		t.Errorf("%d lines: %s", len(said.lines), strings.Join(said.lines, "\n"))
	}
}
