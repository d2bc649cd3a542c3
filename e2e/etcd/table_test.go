package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
)

// good returns the result of a run without faults.
func good() result {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	return result{
		name: "run 1",
		Result: stage.Result{
			Answer: stage.Answer{
				Operations: 100, Acknowledged: 50, Keys: []stage.Key{{Key: "register/0", Operations: 100, Verdict: "Ok"}},
				Figures: []stage.Figure{{Name: "before"}, {Name: "during"}, {Name: "after"}, {Name: "whole", ClientGap: 1.9}},
				Begin:   at(0), Rate: []int{10, 20, 0, 20},
			},
			Audit: auditor.Report{FewestAvailable: 2, Replicas: 3},
			Phases: []stage.Phase{
				{Name: "before", From: at(0), Until: at(1)}, {Name: "moving", From: at(1), Until: at(9)}, {Name: "after", From: at(9), Until: at(10)},
			},
		},
		stays: []stay{{member: "etcd-0", cluster: "east", from: at(-5), until: at(1)}, {member: "etcd-0", cluster: "west", from: at(2)}},
	}
}

func TestComplaints(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*result)
		want  []string
	}{
		"nothing":         {func(*result) {}, nil},
		"a lost write":    {func(r *result) { r.Lost = []string{"x"} }, []string{"1 acknowledged writes are lost: x"}},
		"a strange value": {func(r *result) { r.Strange = []string{"x"} }, []string{"1 values were found that no client wrote: x"}},
		"no one order":    {func(r *result) { r.Keys[0].Verdict = "Illegal" }, []string{"the history of register/0 is not linearizable: Illegal"}},
		"not judged":      {func(r *result) { r.Keys[0].Verdict = "Unknown" }, []string{"the history of register/0 is not linearizable: Unknown"}},
		"two down":        {func(r *result) { r.Audit.FewestAvailable = 1 }, []string{"1 of 3 members were Ready"}},
		"a long gap":      {func(r *result) { r.Figures[3].ClientGap = 2.01 }, []string{"a client waited 2.01 s for an acknowledged write, more than 2 s"}},
		"refuted": {
			func(r *result) { r.Audit.Violations = []auditor.Finding{{}} }, []string{"the auditor does not agree"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			tc.spoil(&r)
			if diff := cmp.Diff(tc.want, r.complaints()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDrawing: the picture is well-formed, and nothing is drawn outside of it.
func TestDrawing(t *testing.T) {
	picture := drawing(good())
	decoder := xml.NewDecoder(strings.NewReader(picture))
	rects := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v:\n%s", err, picture)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			rects++
		}
	}
	const background, legend, stays, bars = 1, 2, 2, 4
	if want := background + legend + stays + bars; rects != want || strings.Contains(picture, `"-`) || strings.Contains(picture, "NaN") {
		t.Errorf("%d rectangles, want %d:\n%s", rects, want, picture)
	}
}

func TestPage(t *testing.T) {
	text, err := page([]result{good(), good()})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"the picture shows the first", "| | run 1 | run 1 |\n|---|---|---|\n| operations | 100 | 100 |\n", "| of these lost | 0 | 0 |\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
}
