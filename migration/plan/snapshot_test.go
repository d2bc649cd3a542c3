package plan

import (
	"testing"
	"time"
)

// TestPodAvailable: a pod counts as available when its set controls it, it stays, and it has been Ready for
// as long as was asked for (I4, I5).
func TestPodAvailable(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Pod)
		want   bool
	}{
		"just long enough":    {func(*Pod) {}, true},
		"longer":              {func(p *Pod) { p.ReadySince = p.ReadySince.Add(-time.Hour) }, true},
		"not long enough":     {func(p *Pod) { p.ReadySince = p.ReadySince.Add(1) }, false},
		"not Ready":           {func(p *Pod) { p.Ready = false }, false},
		"on its way out":      {func(p *Pod) { p.Terminating = true }, false},
		"it is somebody's":    {func(p *Pod) { p.Owned = false }, false},
		"neither Ready nor":   {func(p *Pod) { p.Ready, p.Terminating = false, true }, false},
		"nobody's, and going": {func(p *Pod) { p.Owned, p.Terminating = false, true }, false},
	} {
		pod := Pod{Ready: true, Owned: true, ReadySince: epoch.Add(-time.Minute)}
		tc.change(&pod)
		if got := pod.Available(epoch, time.Minute); got != tc.want {
			t.Errorf("%s: available %t", name, got)
		}
	}
}
