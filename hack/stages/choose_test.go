package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestTurns: with any hashes, each stage has its turn every few commits. No turn takes longer than the available time,
// or than a single stage.
func TestTurns(t *testing.T) {
	const commits, left = 1000, 20
	for count := 1; count <= 12; count++ {
		var taking []stage
		for i := range count {
			taking = append(taking, stage{Target: strconv.Itoa(i), Minutes: 5 + 7*i%25})
		}
		runs := map[string]int{}
		for i := range commits {
			hash := sha256.Sum256(fmt.Append(nil, i))
			chosen, err := turnsOf(taking, hex.EncodeToString(hash[:20]), left*time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			takes := 0
			for _, each := range taking {
				if slices.Contains(chosen, each.Target) {
					takes += each.Minutes
					runs[each.Target]++
				}
			}
			if len(chosen) == 0 || takes > left && len(chosen) > 1 {
				t.Fatalf("of %d stages %v take %d minutes", count, chosen, takes)
			}
		}
		for _, each := range taking {
			if runs[each.Target]*count < commits*3/4 {
				t.Errorf("of %d stages %s was run by %d of %d commits", count, each.Target, runs[each.Target], commits)
			}
		}
	}
}

func TestTurnsOf(t *testing.T) {
	const hash = "0000000000000020123456789abcdef0123456789" // 2 of 15 digits
	taking := []stage{{Target: "a", Minutes: 10}, {Target: "b", Minutes: 10}, {Target: "c", Minutes: 25}, {Target: "d", Minutes: 12}, {Target: "e", Minutes: 8}}
	for name, tc := range map[string]struct {
		left time.Duration
		want []string
	}{
		"no time":             {0, []string{"c"}},
		"for one and another": {34 * time.Minute, []string{"c", "e"}},
		"one does not fit":    {45 * time.Minute, []string{"c", "d", "e"}},
		"for all":             {time.Hour + 5*time.Minute, []string{"c", "d", "e", "a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := turnsOf(taking, hash, tc.left); err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v: %v", got, tc.want, err)
			}
		})
	}
	for _, bad := range []string{"", "69b5ddb", "HEAD is no hash at all"} {
		if got, err := turnsOf(taking, bad, time.Hour); err == nil {
			t.Errorf("%q chooses %v", bad, got)
		}
	}
	if got, err := turnsOf(nil, hash, time.Hour); got != nil || err != nil {
		t.Errorf("of none it chooses %v: %v", got, err)
	}
}

func TestLeaveOut(t *testing.T) {
	always := stage{Name: "unit", Target: "unit"}
	mutants := stage{Name: "mutants", Target: "mutants-changed", Since: true}
	kind := stage{Name: "moves on kind", Target: "kind-moves", Docker: true, Minutes: 25, Clusters: 2}
	quarter := stage{Name: "a quarter of the moves", Target: "moves-2", Minutes: 11}
	turn, others := []string{"moves-2", "kind-moves"}, []string{"pages"}
	for name, tc := range map[string]struct {
		stage stage
		now   situation
		want  string
	}{
		"it takes no turns":                  {stage: always, now: situation{Docker: "no docker", Elapsed: time.Hour, Limit: time.Hour}},
		"after a failure":                    {stage: always, now: situation{Stopped: "lint failed"}, want: "lint failed"},
		"the first commit":                   {stage: mutants, want: "no commit before this one is here"},
		"a commit before":                    {stage: mutants, now: situation{Since: "69b5ddb"}},
		"its turn":                           {stage: kind, now: situation{Turns: turn}},
		"the turn of another":                {stage: kind, now: situation{Turns: others}, want: "it is the turn of others: make kind-moves"},
		"everything":                         {stage: kind, now: situation{Everything: true}},
		"asked for by name":                  {stage: kind, now: situation{Targets: []string{"kind-moves"}}},
		"no docker":                          {stage: kind, now: situation{Everything: true, Docker: "no docker"}, want: "no docker"},
		"no clusters":                        {stage: kind, now: situation{Everything: true, Clusters: "they did not start"}, want: "they did not start"},
		"it fits":                            {stage: kind, now: situation{Turns: turn, Elapsed: 55 * time.Minute, Limit: 80 * time.Minute}},
		"it does not fit":                    {stage: kind, now: situation{Turns: turn, Elapsed: 56 * time.Minute, Limit: 80 * time.Minute}, want: "it may take 25 minutes, and 24 are left: make kind-moves"},
		"what needs no docker":               {stage: quarter, now: situation{Turns: turn, Docker: "no docker"}},
		"the turn of another, and no docker": {stage: kind, now: situation{Turns: others, Docker: "no docker"}, want: "it is the turn of others: make kind-moves"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.now.leaveOut(tc.stage); got != tc.want {
				t.Errorf("left out because %q, want %q", got, tc.want)
			}
		})
	}
}
