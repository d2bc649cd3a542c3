package decide

import (
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestWhatIsHeldAndWhy: the message of a held ordinal names what it waits for, and the field or the write that changes that.
func TestWhatIsHeldAndWhy(t *testing.T) {
	settled, recreating := settledAt("b"), by(api.Recreate)
	share := func(n int32) func(*Input) {
		return func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, &n }
	}
	split := func(in *Input) { in.Spec.Split = true }
	inPlaceOnly := func(in *Input) { in.Spec.Policy = api.InPlaceOnly }
	pulls := func(in *Input) { in.Spec.PrePull = true }
	overdue := since(time.Hour, Progress{Updated: 1, Late: true})
	claim := func(growth Growth) func(*Pod) {
		return func(p *Pod) { p.Growth = growth; p.Growth.Claim = "data-web-1" }
	}
	old := noon.Add(-time.Hour)
	unseen := func(p *Pod) {
		possible(p)
		p.InPlace = &InPlace{Revision: "x", Since: noon, Unseen: true}
	}
	closing := func(p *Pod) {
		possible(p)
		p.InPlace = &InPlace{Revision: "b", Since: old}
	}
	resized := func(p *Pod) { p.InPlace = &InPlace{Revision: "b", Patched: true, Waits: "no room"} }
	patched := func(p *Pod) { p.InPlace = &InPlace{Revision: "b", Patched: true} }
	newImages := func(p *Pod) { p.NewImages = true }
	stale := func(in *Input) { in.StaleClaims = []int32{1} }
	endedBefore := func(in *Input) {
		in.Failures = []Failure{{Ordinal: 1, Revision: "b", UID: "former", At: noon, Count: 3}}
	}
	for name, tc := range map[string]struct {
		in      Input
		ordinal int32
		want    string
	}{
		"a share that is smaller": {
			slice(3, "a a b", unavailable(2), parallel, share(0)), 1,
			"it waits for a migration, which lets no more than 0 be unavailable now (annotation apps.sliceshift.io/max-unavailable)",
		},
		"a share that is as large": {slice(3, "a- a b-", parallel, share(1)).with(0, func(p *Pod) { p.Terminating = true }), 1, "it waits until fewer than maxUnavailable (1) pods are unavailable"},
		"no surge pod in a split": {
			slice(3, "a- a b-", parallel, split, surge(1)).with(0, func(p *Pod) { p.Terminating = true }), 1,
			`it waits until fewer than maxUnavailable (1) pods are unavailable; no surge pod is created, because another slice may own the ordinals above (annotation apps.sliceshift.io/split; "false" declares that none does)`,
		},
		"a split without surge pods":  {slice(3, "a- a b-", parallel, split).with(0, func(p *Pod) { p.Terminating = true }), 1, "it waits until fewer than maxUnavailable (1) pods are unavailable"},
		"a roll-out that is undone":   {slice(3, "a a b-", overdue), 1, "the update has failed: it gets revision a again"},
		"a creation that is undone":   {slice(3, "a . b-", overdue, parallel), 1, "the update has failed: it is created at revision a"},
		"old pods remain":             {slice(3, "a . .", recreating), 1, "it is created when no pod of an old revision exists"},
		"claims, OnDelete":            {slice(2, "b b", by(api.OnDelete)).with(1, claim(Growth{State: AwaitsFileSystem, Since: old})), 1, "claim data-web-1 grows when the pod is deleted"},
		"claims, InPlaceOnly":         {slice(2, "b b", inPlaceOnly).with(1, claim(Growth{State: AwaitsFileSystem, Since: old})), 1, "the file system of claim data-web-1 grows when the pod is recreated, and the policy is InPlaceOnly: delete the pod"},
		"claims that grow":            {slice(2, "a a").with(1, claim(Growth{State: Growing})), 1, "its claims grow: claim data-web-1 has not grown yet"},
		"a file system that grows":    {slice(2, "b b").with(1, claim(Growth{State: AwaitsFileSystem, Since: noon})), 1, "its claims grow: the file system of claim data-web-1 has not grown yet"},
		"a file system, anew":         {slice(2, "b b").with(1, claim(Growth{State: AwaitsFileSystem, Since: old, Anew: true})), 1, "the file system of claim data-web-1 has not grown yet, although the pod was recreated for it: if that lasts, see the events of the claim"},
		"claims that cannot grow":     {slice(2, "a a").with(1, claim(Growth{State: Infeasible})), 1, "claim data-web-1 cannot grow to the size in its template, its driver reports: fix that, or set spec.volumeClaimUpdateStrategy.type: OnDelete to continue with unchanged claims"},
		"a former change in place":    {slice(2, "a a", inPlaceOnly).with(1, unseen), 1, "its kubelet has not taken up the change in place before this one"},
		"a gate that is closed":       {slice(2, "a a", inPlaceOnly).with(1, closing), 1, "its readiness gate is closed, and its kubelet has not said so yet"},
		"a resize that waits":         {slice(2, "b b", settled).with(1, resized), 1, "its node does not resize it: no room"},
		"containers that do not run":  {slice(2, "b b", settled).with(1, patched), 1, "its containers do not run the update yet"},
		"images":                      {slice(2, "a a", pulls).with(1, newImages), 1, "the images that its new revision brings are pulled on its node"},
		"a backoff":                   {slice(2, "b b!", settled, endedBefore), 1, "it has ended, as have 3 before it: the next one is created after a backoff"},
		"a stale claim":               {slice(2, "b .", settled, stale), 1, "a claim of its former pod must be deleted first"},
		"scaled away, in Parallel":    {slice(3, "b b . b", settled, parallel), 3, "it is deleted when every ordinal has a pod"},
		"scaled away, others leave":   {slice(1, "b b bt", settled), 1, "it is deleted after ordinal 2"},
		"scaled away, not available":  {slice(1, "b b- b-", settled), 2, "it is deleted when it is available, or ordinal 1 is"},
		"a stand-in that is not paid": {slice(2, "b- b b", settled, unavailable(0), surge(1), parallel), 2, "it is deleted when others are available in its place"},
		"scaling is first":            {slice(2, "a a a"), 1, "it is updated when no pod is left that the slice does not own"},
		"a pod in a batch":            {slice(3, "a a b-"), 1, "it is updated when the pods updated before are available"},
	} {
		var got []string
		for _, h := range Decide(tc.in).Held {
			if h.Ordinal == tc.ordinal {
				got = append(got, h.Message)
			}
		}
		if len(got) != 1 || got[0] != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tc.want)
		}
	}
}
