package main

import (
	"slices"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/etcd/programs/history"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns a time in a test, in milliseconds.
func at(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

func write(client, value string, from, until int, outcome history.Outcome) history.Operation {
	return history.Operation{
		Client: client, Kind: history.Write, Key: "register/0", Value: value, Entry: "entry/" + value, Start: at(from), End: at(until), Outcome: outcome,
	}
}

func read(client, value string, from, until int) history.Operation {
	return history.Operation{Client: client, Kind: history.Read, Key: "register/0", Value: value, Start: at(from), End: at(until), Outcome: history.OK}
}

// member returns the final answer of a member.
func member(register string, entries ...string) history.Final {
	final := history.Final{Endpoint: "m", Start: at(9000), End: at(9001), Keys: map[string]string{"register/0": register}}
	for _, entry := range entries {
		final.Keys["entry/"+entry] = entry
	}
	return final
}

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		all           []history.Operation
		finals        []history.Final
		lost, strange int
		verdict       string
	}{
		"in order": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), read("b", "1", 20, 30), write("b", "2", 40, 50, history.OK)},
			finals: []history.Final{member("2", "1", "2")}, verdict: "Ok",
		},
		"a write is lost": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("a", "2", 20, 30, history.OK)},
			finals: []history.Final{member("1", "1")}, lost: 1, verdict: "Illegal",
		},
		"a write is lost on one member": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("b", "2", 0, 10, history.OK)},
			finals: []history.Final{member("2", "1", "2"), member("2", "2")}, lost: 1, verdict: "Ok",
		},
		"a stale read": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("a", "2", 20, 30, history.OK), read("b", "1", 40, 50)},
			finals: []history.Final{member("2", "1", "2")}, verdict: "Illegal",
		},
		"a read beside a write may see either": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("a", "2", 20, 60, history.OK), read("b", "2", 30, 40), read("c", "2", 41, 50)},
			finals: []history.Final{member("2", "1", "2")}, verdict: "Ok",
		},
		"what was seen is not unseen": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("a", "2", 20, 60, history.OK), read("b", "2", 30, 40), read("c", "1", 41, 50)},
			finals: []history.Final{member("2", "1", "2")}, verdict: "Illegal",
		},
		"an unknown write has its effect late": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("a", "2", 20, 30, history.Unknown), read("b", "1", 40, 50), read("b", "2", 60, 70)},
			finals: []history.Final{member("2", "1", "2")}, verdict: "Ok",
		},
		"an unknown write has none, and was seen": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK), write("a", "2", 20, 30, history.Unknown), read("b", "2", 40, 50)},
			finals: []history.Final{member("1", "1")}, verdict: "Illegal",
		},
		"a value that nobody wrote": {
			all:    []history.Operation{write("a", "1", 0, 10, history.OK)},
			finals: []history.Final{member("1", "1", "7")}, strange: 1, verdict: "Ok",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(tc.all, tc.finals, nil)
			if len(got.Lost) != tc.lost || len(got.Strange) != tc.strange || len(got.Keys) != 1 || got.Keys[0].Verdict != tc.verdict {
				t.Errorf("lost %v, strange %v, keys %v", got.Lost, got.Strange, got.Keys)
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	phase := Phase{Name: "p", From: at(0), Until: at(4000)}
	all := []history.Operation{
		write("a", "1", 90, 100, history.OK), write("b", "2", 190, 200, history.OK), write("a", "3", 1190, 1200, history.OK),
		write("b", "4", 1900, 2400, history.Unknown), write("a", "5", 2190, 2200, history.OK), write("a", "6", 3190, 3200, history.OK),
		write("b", "7", 3690, 3700, history.OK), write("a", "8", 4190, 4200, history.OK),
	}
	got := measure(all, phase)
	want := Figure{
		Name: "p", Seconds: 4, WritesPerSecond: 1.5, P50: 10, P99: 10, Max: 10, Gap: 1, GapAt: at(200),
		ClientGap: 3.5, ClientGapAt: at(200), ClientGapOf: "b", Unknown: 1,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	silent := measure([]history.Operation{write("a", "1", 5000, 5010, history.OK)}, phase)
	if silent.Gap != 4 || silent.ClientGap != 4 {
		t.Errorf("a phase without any write: %+v", silent)
	}
	if counts := rate(all); !slices.Equal(counts, []int{2, 0, 1, 0, 1, 0, 1, 1, 1}) {
		t.Errorf("rate %v", counts)
	}
}
