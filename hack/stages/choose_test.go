package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
	"time"
)

// TestRotation: whatever the hashes are, each part has its turn every few commits.
func TestRotation(t *testing.T) {
	const commits = 1000
	for parts := 1; parts <= 6; parts++ {
		last := map[int]int{}
		runs := map[int]int{}
		for i := range commits {
			hash := sha256.Sum256(fmt.Append(nil, i))
			part, err := partOf(hex.EncodeToString(hash[:20]), parts)
			if err != nil {
				t.Fatal(err)
			}
			if part < 1 || part > parts {
				t.Fatalf("part %d of %d", part, parts)
			}
			if since := i - last[part]; since > 15*parts {
				t.Errorf("part %d of %d was not run for %d commits", part, parts, since)
			}
			last[part] = i
			runs[part]++
		}
		for part := 1; part <= parts; part++ {
			if share := runs[part] * parts; share < commits*3/4 || share > commits*5/4 {
				t.Errorf("part %d of %d was run by %d of %d commits", part, parts, runs[part], commits)
			}
		}
	}
}

func TestPartOf(t *testing.T) {
	const hash = "69b5ddb0123456789abcdef0123456789abcdef0"
	first, err := partOf(hash, 4)
	if err != nil {
		t.Fatal(err)
	}
	if second, _ := partOf(hash, 4); second != first {
		t.Errorf("one commit has the parts %d and %d", first, second)
	}
	for _, bad := range []string{"", "69b5ddb", "HEAD is no hash at all"} {
		if part, err := partOf(bad, 4); err == nil {
			t.Errorf("%q chooses part %d", bad, part)
		}
	}
	if part, err := partOf(hash, 0); err == nil {
		t.Errorf("of no parts it chooses %d", part)
	}
}

func TestLeaveOut(t *testing.T) {
	always := stage{Name: "unit", Target: "unit"}
	mutants := stage{Name: "mutants", Target: "mutants-changed", Since: true}
	kind := stage{Name: "moves on kind", Target: "kind-moves", Part: 2, Docker: true, Minutes: 25, Clusters: 2}
	quarter := stage{Name: "a quarter of the moves", Target: "moves-2", Part: 2}
	for name, tc := range map[string]struct {
		stage stage
		now   situation
		want  string
	}{
		"without a part":                     {stage: always, now: situation{Docker: "no docker", Elapsed: time.Hour, Limit: time.Hour}},
		"after a failure":                    {stage: always, now: situation{Stopped: "lint failed"}, want: "lint failed"},
		"the first commit":                   {stage: mutants, want: "no commit before this one is here"},
		"a commit before":                    {stage: mutants, now: situation{Since: "69b5ddb"}},
		"its turn":                           {stage: kind, now: situation{Part: 2, Parts: 4}},
		"the turn of another":                {stage: kind, now: situation{Part: 3, Parts: 4}, want: "part 2 of 4, and this commit's is 3: make kind-moves"},
		"everything":                         {stage: kind, now: situation{Everything: true}},
		"asked for by name":                  {stage: kind, now: situation{Targets: []string{"kind-moves"}}},
		"no docker":                          {stage: kind, now: situation{Everything: true, Docker: "no docker"}, want: "no docker"},
		"no clusters":                        {stage: kind, now: situation{Everything: true, Clusters: "they did not start"}, want: "they did not start"},
		"it fits":                            {stage: kind, now: situation{Part: 2, Elapsed: 55 * time.Minute, Limit: 80 * time.Minute}},
		"it does not fit":                    {stage: kind, now: situation{Part: 2, Elapsed: 56 * time.Minute, Limit: 80 * time.Minute}, want: "it may take 25 minutes, and 24 are left: make kind-moves"},
		"what needs no docker":               {stage: quarter, now: situation{Part: 2, Docker: "no docker"}},
		"what is never left out":             {stage: quarter, now: situation{Part: 2, Elapsed: time.Hour, Limit: time.Hour}},
		"another quarter":                    {stage: quarter, now: situation{Part: 1, Parts: 4}, want: "part 2 of 4, and this commit's is 1: make moves-2"},
		"the turn of another, and no docker": {stage: kind, now: situation{Part: 3, Parts: 4, Docker: "no docker"}, want: "part 2 of 4, and this commit's is 3: make kind-moves"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.now.leaveOut(tc.stage); got != tc.want {
				t.Errorf("left out because %q, want %q", got, tc.want)
			}
		})
	}
}
