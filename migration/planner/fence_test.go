package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestFenceIsRead: a fence names its migration and its epoch. A value that is not an epoch, or is too large to
// result from counting, counts as none.
func TestFenceIsRead(t *testing.T) {
	for fence, want := range map[string]struct {
		owner types.UID
		epoch int64
	}{
		"":                        {"", 0},
		"m":                       {"m", 0},
		Fence("m", 9):             {"m", 9},
		Fence("m", 10):            {"m", 10},
		"m.x":                     {"m", 0},
		"m.1.2":                   {"m", 0},
		"m.-99999999999999999999": {"m", 0},
		"m.99999999999999999999":  {"m", 0},
		Fence("m", lastEpoch):     {"m", 1 << 40},
		Fence("m", 1<<40+1):       {"m", 0},
		Fence("m", 1<<62+1):       {"m", 0},
	} {
		if owner, epoch := api.FenceOwner(fence), FenceEpoch(fence); owner != want.owner || epoch != want.epoch {
			t.Errorf("%q is of %q in epoch %d, want %q in %d", fence, owner, epoch, want.owner, want.epoch)
		}
	}
}

// TestNewest: the newest epoch is the highest of this migration's fences on the objects that were read.
func TestNewest(t *testing.T) {
	for name, tc := range map[string]struct {
		source, destination plan.Set
		want                int64
	}{
		"none":                     {plan.Set{Presence: plan.Seen}, plan.Set{Presence: plan.Seen}, 0},
		"the source's":             {plan.Set{Presence: plan.Seen, Fence: "m.7"}, plan.Set{Presence: plan.Seen, Fence: "m.5"}, 7},
		"the destination's":        {plan.Set{Presence: plan.Seen, Fence: "m.5"}, plan.Set{Presence: plan.Seen, Fence: "m.7"}, 7},
		"the source is not there":  {plan.Set{Presence: plan.Absent, Fence: "m.7"}, plan.Set{Presence: plan.Seen, Fence: "m.5"}, 5},
		"the source has another's": {plan.Set{Presence: plan.Seen, Fence: "other.7"}, plan.Set{Presence: plan.Seen, Fence: "m.5"}, 5},
		"neither is this one's":    {plan.Set{Presence: plan.Seen, Fence: "other.7"}, plan.Set{Presence: plan.Seen, Fence: "another.5"}, 0},
		"neither was seen":         {plan.Set{Fence: "m.7"}, plan.Set{Fence: "m.5"}, 0},
	} {
		p := halfway(func(s *plan.Snapshot) { s.Source.Set, s.Destination.Set = tc.source, tc.destination })
		if got := p.newest(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
	for name, change := range map[string]func(*plan.Snapshot){
		"a budget of the source":      func(s *plan.Snapshot) { s.Source.Budgets = []plan.Budget{{Fence: "m.8"}} },
		"a budget of the destination": func(s *plan.Snapshot) { s.Destination.Budgets = []plan.Budget{{Fence: "other.9"}, {Fence: "m.8"}} },
		"a volume of the source":      func(s *plan.Snapshot) { s.Volumes[0].Source.Volume.Fence = "m.8" },
		"a volume of the destination": func(s *plan.Snapshot) { s.Volumes[1].Destination.Volume.Fence = "m.8" },
	} {
		p := halfway(func(s *plan.Snapshot) {
			s.Source.Set, s.Destination.Set, s.Volumes = plan.Set{Presence: plan.Seen, Fence: "m.7"}, plan.Set{Presence: plan.Seen, Fence: "m.7"}, make([]plan.OrdinalVolume, 2)
			change(s)
		})
		if got := p.newest(); got != 8 {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// fenced describes the result of ensureFence: the recorded epoch, or the write or the reason to wait.
func fenced(d *plan.Decision) string {
	if d != nil && d.Record != nil {
		return Fence("fence", d.Record.Fence.Epoch)
	}
	return does(d)
}

// TestEnsureFence: a process that has not fenced the migration in this direction does so in a new epoch, unless
// another process has. The fence of the epoch is written on both sets before anything else (I1, I7).
func TestEnsureFence(t *testing.T) {
	// moves changes the recorded fence.
	moves := func(holder string, direction api.Direction) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Fence.Holder, s.Record.Fence.Direction = holder, direction }
	}
	fences := func(source, destination string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Source.Set.Fence, s.Destination.Set.Fence = source, destination }
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it is fenced":                       {nil, ""},
		"by nobody":                          {func(s *plan.Snapshot) { s.Record.Fence = nil; fences("", "")(s) }, "fence.1"},
		"not since this process began":       {func(s *plan.Snapshot) { s.Engaged = false }, "fence.3"},
		"by another one, before":             {func(s *plan.Snapshot) { moves("other", api.Forward)(s); s.Engaged = false }, "fence.3"},
		"by another one, since":              {moves("other", api.Forward), api.ReasonSuperseded},
		"by another one, the other way":      {moves("other", api.Back), api.ReasonSuperseded},
		"the other way":                      {moves("h", api.Back), "fence.3"},
		"a newer fence is there":             {fences("m.2", "m.6"), "fence.7"},
		"the source has no fence":            {fences("", "m.2"), "WriteFence source web s1"},
		"the destination has no fence":       {fences("m.2", ""), "WriteFence destination web d1"},
		"the source has an older one":        {fences("m.1", "m.2"), "WriteFence source web s1"},
		"neither has it":                     {fences("m.1", "m.1"), "WriteFence source web s1"},
		"the source is another's":            {fences("other.2", "m.2"), api.ReasonHeldByAnother},
		"the destination is another's":       {fences("m.2", "other.2"), api.ReasonHeldByAnother},
		"the destination is not there":       {func(s *plan.Snapshot) { fences("m.2", "")(s); s.Destination.Set.Presence = plan.Absent }, ""},
		"the source is not there":            {func(s *plan.Snapshot) { fences("", "")(s); s.Source.Set.Presence = plan.Absent }, "WriteFence destination web d1"},
		"what is not there is not another's": {func(s *plan.Snapshot) { fences("m.2", "other.2")(s); s.Destination.Set.Presence = plan.Absent }, ""},
	} {
		got := halfway(tc.change).ensureFence()
		if fenced(got) != tc.want {
			t.Errorf("%s: %q, want %q", name, fenced(got), tc.want)
		}
		if got != nil && got.Effect != nil && got.Effect.After.Fence != "m.2" {
			t.Errorf("%s: fence %q", name, got.Effect.After.Fence)
		}
		if got != nil && got.Hold != nil && !got.Hold.Stalled {
			t.Errorf("%s: %+v", name, got.Hold)
		}
	}
}

// TestNextFence: the next fence has an epoch above all recorded or written ones, and counts one more attempt of
// the ordinal in flight. When the direction changes, the ordinal's time starts again (I7).
func TestNextFence(t *testing.T) {
	started := metav1.NewMicroTime(began)
	fence := func(epoch int64) api.Fence { return api.Fence{Epoch: epoch, Holder: "h", Direction: api.Forward} }
	again := &api.Handoff{Ordinal: 1, Attempts: 5, StartTime: started}
	flies := func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 1, Attempts: 4, StartTime: started} }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   api.Fence
		flight *api.Handoff
	}{
		"the first":                {func(s *plan.Snapshot) { s.Record.Fence = nil }, fence(3), nil},
		"the fence is newer":       {func(s *plan.Snapshot) { s.Source.Set.Fence = "m.6" }, fence(7), nil},
		"the record is newer":      {func(s *plan.Snapshot) { s.Record.Fence.Epoch = 9 }, fence(10), nil},
		"of another one":           {func(s *plan.Snapshot) { s.Record.Fence.Holder = "other" }, fence(3), nil},
		"back":                     {rollback, api.Fence{Epoch: 3, Holder: "h", Direction: api.Back}, nil},
		"in flight":                {flies, fence(3), again},
		"in flight, the first one": {func(s *plan.Snapshot) { flies(s); s.Record.Fence = nil }, fence(3), again},
		"in flight, turned round": {
			func(s *plan.Snapshot) { flies(s); rollback(s) },
			api.Fence{Epoch: 3, Holder: "h", Direction: api.Back},
			&api.Handoff{Ordinal: 1, Attempts: 5, StartTime: metav1.NewMicroTime(began.Add(time.Hour))},
		},
	} {
		p := halfway(tc.change)
		p.Record.Baseline.Services = &noServices
		want := p.Record
		want.Fence, want.Handoff = &tc.want, tc.flight
		got := p.nextFence()
		if got.Record == nil {
			t.Errorf("%s: nothing is recorded", name)
			continue
		}
		if diff := cmp.Diff(&want, got.Record); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if handoff := p.Record.Handoff; handoff != nil && handoff.Attempts != 4 {
			t.Errorf("%s: what is recorded now has changed", name)
		}
	}
}

// TestClaimedFinding: the remedy for another migration's StatefulSet rebuilds that migration's record. It never
// removes the fence: an ordinal may be down (H1).
func TestClaimedFinding(t *testing.T) {
	for name, resource := range map[string]string{"native": "", "of our own kind": plan.SliceResource} {
		side := plan.Side{Cluster: "east", Namespace: "shop", Set: plan.Set{Name: "web", Fence: "other.2", Resource: resource}}
		got := HeldByAnother(side, side)
		if got.Reason != api.ReasonHeldByAnother || got.Object != side.Object() || !strings.Contains(got.Message, "the Migration with UID other:") ||
			!strings.Contains(got.Remedy, "run web -n shop --resume-uid other") || strings.Contains(got.Remedy, "fence-") {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestReleaseOfFences: only the fences of this migration are removed, the destination's first.
func TestReleaseOfFences(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"both":                         {nil, "ReleaseFence destination web d1"},
		"the destination's is gone":    {func(s *plan.Snapshot) { s.Destination.Set.Fence = "" }, "ReleaseFence source web s1"},
		"the destination is another's": {func(s *plan.Snapshot) { s.Destination.Set.Fence = "other.2" }, "ReleaseFence source web s1"},
		"the destination is not there": {func(s *plan.Snapshot) { s.Destination.Set.Presence = plan.Absent }, "ReleaseFence source web s1"},
		"neither":                      {func(s *plan.Snapshot) { s.Source.Set.Fence, s.Destination.Set.Fence = "", "other.2" }, ""},
	} {
		if got := does(halfway(tc.change).release()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestReleaseOfSplits: the release records whether the other side keeps ordinals of the application.
func TestReleaseOfSplits(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"both have some":                    {nil, true},
		"all have moved":                    {func(s *plan.Snapshot) { s.Source.Set.Replicas = 0 }, false},
		"none has":                          {func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }, false},
		"the destination is not there":      {func(s *plan.Snapshot) { s.Destination.Set.Presence = plan.Absent }, false},
		"the destination cannot be read":    {func(s *plan.Snapshot) { s.Destination.Set = plan.Set{} }, true},
		"all have moved, to who knows what": {func(s *plan.Snapshot) { s.Source.Set.Replicas, s.Destination.Set = 0, plan.Set{} }, false},
	} {
		t.Run("X-23 "+name, func(t *testing.T) {
			if d := halfway(tc.change).release(); d == nil || d.Effect == nil || d.Effect.After.Split != tc.want {
				t.Errorf("got %+v, want split %t", d, tc.want)
			}
		})
	}
}

// TestFenceEpoch: the epoch of a fence is the number after its dot. A number that cannot result from counting was
// written by hand, and does not count (G16).
func TestFenceEpoch(t *testing.T) {
	for fence, want := range map[string]int64{
		"": 0, "m": 0, "m.": 0, "m.x": 0, "m.0": 0, "m.1": 1, "m.7": 7, "m.-1": 0, "m.-5": 0,
		fmt.Sprintf("m.%d", lastEpoch): lastEpoch, fmt.Sprintf("m.%d", lastEpoch+1): 0, "m.9223372036854775807": 0, "m.9223372036854775808": 0, "m.-9223372036854775809": 0,
	} {
		if got := FenceEpoch(fence); got != want {
			t.Errorf("%q: %d, want %d", fence, got, want)
		}
	}
}

// TestY9ReleaseHandsOver: the release gives up the fields of a side that runs ordinals, and keeps those of an empty one.
func TestY9ReleaseHandsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		side   plan.SideName
		want   bool
	}{
		"the destination":              {nil, plan.DestinationSide, true},
		"the source, which keeps some": {func(s *plan.Snapshot) { s.Destination.Set.Fence = "" }, plan.SourceSide, true},
		"the source, from which all moved": {
			func(s *plan.Snapshot) { s.Destination.Set.Fence, s.Source.Set.Replicas = "", 0 }, plan.SourceSide, false,
		},
		"a destination that was rolled back": {func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }, plan.DestinationSide, false},
	} {
		d := halfway(tc.change).release()
		if d == nil || d.Effect == nil || d.Effect.Side != tc.side || d.Effect.After.HandOver != tc.want {
			t.Errorf("%s: got %+v, want %t on the %s", name, d, tc.want, tc.side)
		}
	}
}
