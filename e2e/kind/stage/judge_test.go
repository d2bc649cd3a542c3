package stage

import (
	"slices"
	"testing"
	"time"

	"github.com/sliceshift/sliceshift/e2e/steady"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns a time in a test, in milliseconds.
func at(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

func write(client, value string, from, until int, outcome steady.Outcome) steady.Operation {
	return steady.Operation{
		Client: client, Kind: steady.Write, Key: "register/0", Value: value, Entry: "entry/" + value, Start: at(from), End: at(until), Outcome: outcome,
	}
}

func saw(client, value string, from, until int) steady.Operation {
	return steady.Operation{Client: client, Kind: steady.Read, Key: "register/0", Value: value, Start: at(from), End: at(until), Outcome: steady.OK}
}

// member returns the final answer of a member.
func member(register string, entries ...string) steady.Final {
	final := steady.Final{Endpoint: "m", Start: at(9000), End: at(9001), Keys: map[string]string{"register/0": register}}
	for _, entry := range entries {
		final.Keys["entry/"+entry] = entry
	}
	return final
}

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		all           []steady.Operation
		finals        []steady.Final
		lost, strange int
		verdict       string
	}{
		"in order": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), saw("b", "1", 20, 30), write("b", "2", 40, 50, steady.OK)},
			finals: []steady.Final{member("2", "1", "2")}, verdict: "Ok",
		},
		"a write is lost": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("a", "2", 20, 30, steady.OK)},
			finals: []steady.Final{member("1", "1")}, lost: 1, verdict: "Illegal",
		},
		"a write is lost on one member": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("b", "2", 0, 10, steady.OK)},
			finals: []steady.Final{member("2", "1", "2"), member("2", "2")}, lost: 1, verdict: "Ok",
		},
		"a stale read": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("a", "2", 20, 30, steady.OK), saw("b", "1", 40, 50)},
			finals: []steady.Final{member("2", "1", "2")}, verdict: "Illegal",
		},
		"a read beside a write may see either": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("a", "2", 20, 60, steady.OK), saw("b", "2", 30, 40), saw("c", "2", 41, 50)},
			finals: []steady.Final{member("2", "1", "2")}, verdict: "Ok",
		},
		"what was seen is not unseen": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("a", "2", 20, 60, steady.OK), saw("b", "2", 30, 40), saw("c", "1", 41, 50)},
			finals: []steady.Final{member("2", "1", "2")}, verdict: "Illegal",
		},
		"an unknown write has its effect late": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("a", "2", 20, 30, steady.Unknown), saw("b", "1", 40, 50), saw("b", "2", 60, 70)},
			finals: []steady.Final{member("2", "1", "2")}, verdict: "Ok",
		},
		"an unknown write has none, and was seen": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK), write("a", "2", 20, 30, steady.Unknown), saw("b", "2", 40, 50)},
			finals: []steady.Final{member("1", "1")}, verdict: "Illegal",
		},
		"a value that nobody wrote": {
			all:    []steady.Operation{write("a", "1", 0, 10, steady.OK)},
			finals: []steady.Final{member("1", "1", "7")}, strange: 1, verdict: "Ok",
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
	all := []steady.Operation{
		write("a", "1", 90, 100, steady.OK), write("b", "2", 190, 200, steady.OK), write("a", "3", 1190, 1200, steady.OK),
		write("b", "4", 1900, 2400, steady.Unknown), write("a", "5", 2190, 2200, steady.OK), write("a", "6", 3190, 3200, steady.OK),
		write("b", "7", 3690, 3700, steady.OK), write("a", "8", 4190, 4200, steady.OK),
	}
	got := measure(all, phase)
	want := Figure{
		Name: "p", Seconds: 4, WritesPerSecond: 1.5, P50: 10, P99: 10, Max: 10, Gap: 1, GapAt: at(200),
		ClientGap: 3.5, ClientGapAt: at(200), ClientGapOf: "b", Unknown: 1,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	silent := measure([]steady.Operation{write("a", "1", 5000, 5010, steady.OK)}, phase)
	if silent.Gap != 4 || silent.ClientGap != 4 {
		t.Errorf("a phase without any write: %+v", silent)
	}
	if counts := rate(all); !slices.Equal(counts, []int{2, 0, 1, 0, 1, 0, 1, 1, 1}) {
		t.Errorf("rate %v", counts)
	}
}

// appended returns an acknowledged or unknown write of a database without registers, and copyOf what one of its copies has.
func appended(value string, end int, outcome steady.Outcome) steady.Operation {
	return steady.Operation{Client: "a", Kind: steady.Write, Value: value, Entry: value, Start: at(1000*end - 100), End: at(1000 * end), Outcome: outcome}
}

func copyOf(name string, values ...string) steady.Final {
	final := steady.Final{Endpoint: name, Keys: map[string]string{}}
	for _, value := range values {
		final.Keys[value] = value
	}
	return final
}

func TestJudgeWithoutRegisters(t *testing.T) {
	all := []steady.Operation{appended("1", 1, steady.OK), appended("2", 2, steady.OK), appended("3", 3, steady.Unknown)}
	for name, tc := range map[string]struct {
		finals        []steady.Final
		lost, strange []string
	}{
		"all is there":                     {[]steady.Final{copyOf("m0", "1", "2"), copyOf("m1", "2", "1")}, nil, nil},
		"what was not answered may be":     {[]steady.Final{copyOf("m0", "1", "2", "3"), copyOf("m1", "1", "2")}, nil, nil},
		"one is lost":                      {[]steady.Final{copyOf("m0", "2"), copyOf("m1", "2")}, []string{"1 on m0", "1 on m1"}, nil},
		"one is lost on the replica alone": {[]steady.Final{copyOf("m0", "1", "2"), copyOf("m1", "1")}, []string{"2 on m1"}, nil},
		"one came from nowhere":            {[]steady.Final{copyOf("m0", "1", "2", "9")}, nil, []string{"9=9 on m0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge(all, tc.finals, nil)
			if !slices.Equal(tc.lost, got.Lost) || !slices.Equal(tc.strange, got.Strange) || got.Acknowledged != 2 || got.Unknown != 1 {
				t.Errorf("got %+v", got)
			}
			if complains := len(Result{Answer: got}.Complaints()) > 0; complains != (len(tc.lost)+len(tc.strange) > 0) {
				t.Errorf("complaints %q", Result{Answer: got}.Complaints())
			}
		})
	}
}

func TestGaps(t *testing.T) {
	other := appended("6", 8, steady.OK)
	other.Client = "b"
	all := []steady.Operation{
		appended("1", 1, steady.OK), appended("2", 2, steady.OK), appended("3", 3, steady.Unknown), appended("4", 6, steady.OK), appended("5", 11, steady.OK), other,
	}
	for name, tc := range map[string]struct {
		from, until    int
		writes         float64
		gap, clientGap float64
	}{
		"between two":        {0, 10, 4, 4, 8},
		"nothing at its end": {2, 20, 4, 9, 12},
		"nothing at all":     {20, 25, 0, 5, 5},
	} {
		t.Run(name, func(t *testing.T) {
			got := measure(all, Phase{Name: "p", From: at(1000 * tc.from), Until: at(1000 * tc.until)})
			if got.WritesPerSecond*got.Seconds != tc.writes || got.Gap != tc.gap || got.ClientGap != tc.clientGap {
				t.Errorf("%+v", got)
			}
		})
	}
}
