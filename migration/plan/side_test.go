package plan

import (
	"testing"
	"time"
)

// TestAvailable: without minReadySeconds a pod is available as soon as it is Ready, even if the clock of its cluster is ahead
// of this process. With minReadySeconds it has to be Ready for that long.
func TestAvailable(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		pod      Pod
		minReady time.Duration
		want     bool
	}{
		"Ready":                     {Pod{Owned: true, Ready: true, ReadySince: now}, 0, true},
		"Ready by a clock ahead":    {Pod{Owned: true, Ready: true, ReadySince: now.Add(time.Minute)}, 0, true},
		"not Ready":                 {Pod{Owned: true, ReadySince: now}, 0, false},
		"terminating":               {Pod{Owned: true, Ready: true, Terminating: true, ReadySince: now}, 0, false},
		"of nobody":                 {Pod{Ready: true, ReadySince: now}, 0, false},
		"not for long":              {Pod{Owned: true, Ready: true, ReadySince: now.Add(-time.Second)}, time.Minute, false},
		"for long":                  {Pod{Owned: true, Ready: true, ReadySince: now.Add(-time.Minute)}, time.Minute, true},
		"for long by a clock ahead": {Pod{Owned: true, Ready: true, ReadySince: now.Add(time.Minute)}, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.pod.Available(now, tc.minReady); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
