package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }

func wrote(value string, end float64, acknowledged bool) write {
	return write{Client: "a", Value: value, Start: at(end - 0.1), End: at(end), Acknowledged: acknowledged}
}

func TestJudge(t *testing.T) {
	all := []write{wrote("1", 1, true), wrote("2", 2, true), wrote("3", 3, false)}
	for name, tc := range map[string]struct {
		members       []found
		lost, strange []string
	}{
		"all is there":                     {[]found{{"m0", []string{"1", "2"}}, {"m1", []string{"2", "1"}}}, nil, nil},
		"what was not answered may be":     {[]found{{"m0", []string{"1", "2", "3"}}, {"m1", []string{"1", "2"}}}, nil, nil},
		"one is lost":                      {[]found{{"m0", []string{"2"}}, {"m1", []string{"2"}}}, []string{"1 on m0", "1 on m1"}, nil},
		"one is lost on the replica alone": {[]found{{"m0", []string{"1", "2"}}, {"m1", []string{"1"}}}, []string{"2 on m1"}, nil},
		"one came from nowhere":            {[]found{{"m0", []string{"1", "2", "9"}}}, nil, []string{"9 on m0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := judge("toy", all, tc.members, nil)
			if diff := cmp.Diff(tc.lost, got.lost) + cmp.Diff(tc.strange, got.strange); diff != "" || got.acknowledged != 2 || got.unknown != 1 {
				t.Errorf("%d acknowledged, %d unknown, -want +got:\n%s", got.acknowledged, got.unknown, diff)
			}
			if lost := got.verdict() != nil; got.audit.OK() && lost != (len(tc.lost)+len(tc.strange) > 0) {
				t.Errorf("verdict %v", got.verdict())
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	other := wrote("6", 8, true)
	other.Client = "b"
	all := []write{wrote("1", 1, true), wrote("2", 2, true), wrote("3", 3, false), wrote("4", 6, true), wrote("5", 11, true), other}
	for name, tc := range map[string]struct {
		from, until    float64
		writes         int
		gap, clientGap float64
	}{
		"between two":        {0, 10, 4, 4, 8},
		"nothing at its end": {2, 20, 4, 9, 12},
		"nothing at all":     {20, 25, 0, 5, 5},
	} {
		t.Run(name, func(t *testing.T) {
			got := measure(all, phase{"p", at(tc.from), at(tc.until)})
			if got.acknowledged != tc.writes || got.gap != tc.gap || got.clientGap != tc.clientGap {
				t.Errorf("%+v", got)
			}
		})
	}
}
