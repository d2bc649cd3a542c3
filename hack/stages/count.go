package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// counts is the number of tests, including subtests, by result.
type counts struct{ Passed, Failed, Skipped int }

func (c *counts) add(action string) {
	switch action {
	case "pass":
		c.Passed++
	case "fail":
		c.Failed++
	case "skip":
		c.Skipped++
	}
}

func (c counts) plus(other counts) counts {
	return counts{c.Passed + other.Passed, c.Failed + other.Failed, c.Skipped + other.Skipped}
}

// tested is the result of a stage in one package.
type tested struct {
	Package string
	Tests   counts
	Broken  bool // the package failed, with or without a failed test, or never ended
	Took    time.Duration
	// Failures holds the failed tests with output, in the order in which they ended.
	Failures []failure

	begun, over bool
	running     map[string]bool
	said        map[string]*remarks
}

// event is an event of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

var (
	errNoTests  = errors.New("nothing has said a word: who runs the tests was killed, or they were not built")
	errNotEnded = errors.New("tests have failed, or have not ended, and who ran them says that all is well")
)

// readTests counts the events in a file of go test -json. A missing file means that there are no tests.
func readTests(path string) ([]tested, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all, err := count(file)
	if info, stat := file.Stat(); err == nil && stat == nil && info.Size() == 0 {
		err = errNoTests
	}
	if err != nil {
		return nil, fmt.Errorf("count the tests of %s: %w", path, err)
	}
	return all, nil
}

// count returns the packages that have tests or have failed, the longest first.
func count(events io.Reader) ([]tested, error) {
	found := map[string]*tested{}
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if found[e.Package] == nil {
			found[e.Package] = &tested{Package: e.Package, running: map[string]bool{}, said: map[string]*remarks{}}
		}
		found[e.Package].note(e)
	}
	var all []tested
	for _, each := range found {
		each.end()
		if each.Tests != (counts{}) || each.Broken {
			all = append(all, *each)
		}
	}
	slices.SortFunc(all, func(a, b tested) int { return int(b.Took - a.Took) })
	return all, nil
}

func (t *tested) note(e event) {
	if e.Test != "" {
		switch e.Action {
		case "run":
			t.running[e.Test], t.said[e.Test] = true, &remarks{}
		case "output":
			if t.said[e.Test] != nil {
				t.said[e.Test].hear(e.Output)
			}
		case "pass", "fail", "skip":
			t.Tests.add(e.Action)
			t.ended(e.Test, e.Action == "fail")
		}
		return
	}
	switch e.Action {
	case "start":
		t.begun = true
	case "fail":
		t.Broken = true
		fallthrough
	case "pass", "skip":
		t.over = true
		t.Took = time.Duration(e.Elapsed * float64(time.Second))
	}
}

func (t *tested) ended(test string, failed bool) {
	if said := t.said[test]; failed && said != nil && len(said.lines) > 0 {
		t.Failures = append(t.Failures, failure{Test: test, Said: said.lines})
	}
	delete(t.running, test)
	delete(t.said, test)
}

// end counts tests that never ended as failed, because their process was killed or took too long.
func (t *tested) end() {
	t.Tests.Failed += len(t.running)
	for _, test := range slices.Sorted(maps.Keys(t.running)) {
		t.ended(test, true)
	}
	t.Broken = t.Broken || t.begun && !t.over
	t.running, t.said = nil, nil
}

// sound returns an error unless all tests have passed. make may exit with 0 although a signal has ended the test runner.
func sound(all []tested) error {
	if slices.ContainsFunc(all, func(t tested) bool { return t.Broken || t.Tests.Failed > 0 }) {
		return errNotEnded
	}
	return nil
}

func sum(all []tested) counts {
	var total counts
	for _, each := range all {
		total = total.plus(each.Tests)
	}
	return total
}

// failure is a failed test and its output.
type failure struct {
	Test string
	Said []string
}

const (
	mostRemarks = 12  // of one test: the last ones, because a test often logs before it fails
	mostLines   = 6   // of one remark, because a test may log long output of a program
	mostRunes   = 400 // of one line
)

// remarks holds the messages of one test from Log, Error and Fatal: lines that begin with a file name and line number,
// and the lines that follow.
type remarks struct {
	lines []string
	// begins holds where remarks begin in lines; left is how many more lines the last one may have.
	begins []int
	left   int
}

var remark = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: |^panic: `)

func (r *remarks) hear(output string) {
	line := strings.TrimRight(output, "\n")
	switch {
	case remark.MatchString(line):
		r.begins, r.left = append(r.begins, len(r.lines)), mostLines
	case strings.HasPrefix(strings.TrimLeft(line, " "), "---"), strings.HasPrefix(line, "==="):
		r.left = 0
	}
	if r.left == 0 {
		return
	}
	r.left--
	if runes := []rune(line); len(runes) > mostRunes {
		line = string(runes[:mostRunes]) + "..."
	}
	r.lines = append(r.lines, strings.TrimSpace(line))
	if len(r.begins) > mostRemarks {
		drop := r.begins[1]
		r.lines, r.begins = r.lines[drop:], r.begins[1:]
		for i := range r.begins {
			r.begins[i] -= drop
		}
	}
}

// printFailures prints each failed test with its output, because the log above the table is long.
func printFailures(out io.Writer, rows []row) {
	for _, r := range rows {
		for _, each := range r.Tested {
			for _, failed := range each.Failures {
				fmt.Fprintf(out, "FAILED %s.%s\n", strings.TrimPrefix(each.Package, module+"/"), failed.Test)
				for _, line := range failed.Said {
					fmt.Fprintf(out, "    %s\n", line)
				}
			}
		}
	}
}
