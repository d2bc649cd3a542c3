package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestWorldBindClaims: the binder sets a volume's phase, binds a claim to its reserved volume, and sets whether a
// claim has its volume (I2). It completes a deletion when nothing uses the object any more (I3).
func TestWorldBindClaims(t *testing.T) {
	of := func(change func(*volumes.Holding)) func(*plan.Snapshot) { return atLast(plan.SourceSide, change) }
	claimed := func(phase corev1.PersistentVolumeClaimPhase) func(*plan.Snapshot) {
		return of(func(h *volumes.Holding) { h.Claim.Phase, h.Claim.ResourceVersion = phase, "v1" })
	}
	volumed := func(change func(*volumes.Volume)) func(*plan.Snapshot) {
		return of(func(h *volumes.Holding) { h.Volume.ResourceVersion = "v1"; change(&h.Volume) })
	}
	gone := of(func(h *volumes.Holding) { h.Volume = volumes.Volume{} })
	deleted := func(change func(*volumes.Holding)) func(*plan.Snapshot) {
		return of(func(h *volumes.Holding) { h.Volume.Terminating = true; change(h) })
	}
	for name, tc := range map[string]struct{ before, change func(*plan.Snapshot) }{
		"all are bound":            {func(*plan.Snapshot) {}, nil},
		"a volume without a phase": {of(func(h *volumes.Holding) { h.Volume.Phase = "" }), volumed(func(v *volumes.Volume) { v.Phase = corev1.VolumeBound })},
		"a volume that is free again": {
			of(func(h *volumes.Holding) { h.Volume.ClaimRef.UID = "" }),
			volumed(func(v *volumes.Volume) { v.Phase = corev1.VolumeAvailable }),
		},
		"a volume that is reserved for the claim": {
			of(func(h *volumes.Holding) { h.Volume.ClaimRef.UID, h.Volume.Phase = "", corev1.VolumeAvailable }),
			volumed(func(v *volumes.Volume) { v.ClaimRef.UID = "claim-wal-web-1" }),
		},
		"a claim that is to be bound":  {of(func(h *volumes.Holding) { h.Claim.Phase = corev1.ClaimPending }), claimed(corev1.ClaimBound)},
		"a claim without its volume":   {of(func(h *volumes.Holding) { h.Volume = volumes.Volume{} }), claimed(corev1.ClaimLost)},
		"a claim of another volume":    {of(func(h *volumes.Holding) { h.Claim.Volume = "other" }), claimed(corev1.ClaimLost)},
		"its volume is parked":         {of(func(h *volumes.Holding) { h.Volume.ClaimRef.Name += "_parked" }), claimed(corev1.ClaimLost)},
		"its volume is a former one's": {of(func(h *volumes.Holding) { h.Volume.ClaimRef.UID = "former" }), claimed(corev1.ClaimLost)},
		"a claim that is lost":         {of(func(h *volumes.Holding) { h.Volume, h.Claim.Phase = volumes.Volume{}, corev1.ClaimLost }), nil},
		"a claim that names no volume": {of(func(h *volumes.Holding) { h.Claim.Volume = "" }), nil},
		"it has no volume either":      {of(func(h *volumes.Holding) { h.Claim.Volume, h.Volume = "", volumes.Volume{} }), nil},
		"no claim":                     {of(func(h *volumes.Holding) { h.Claim = volumes.Claim{} }), nil},
		"no other claim": {func(s *plan.Snapshot) {
			s.Volumes[0].Source.Claim, s.Volumes[lastClaim].Source.Claim.Phase = volumes.Claim{}, corev1.ClaimPending
		}, claimed(corev1.ClaimBound)},
		"a claim that is deleted and used": {of(func(h *volumes.Holding) { h.Claim.Terminating = true }), nil},
		"a claim that is deleted": {func(s *plan.Snapshot) {
			of(func(h *volumes.Holding) { h.Claim.Terminating = true })(s)
			s.Source.RemovePod(1)
		}, of(func(h *volumes.Holding) { h.Claim = volumes.Claim{} })},
		"a claim that nobody uses":          {func(s *plan.Snapshot) { s.Source.RemovePod(1) }, nil},
		"a volume that is deleted and used": {deleted(func(*volumes.Holding) {}), nil},
		"a volume that is deleted":          {deleted(func(h *volumes.Holding) { h.Claim = volumes.Claim{} }), gone},
		"of another claim":                  {deleted(func(h *volumes.Holding) { h.Volume.ClaimRef.UID = "former" }), gone},
		"never bound":                       {deleted(func(h *volumes.Holding) { h.Claim, h.Volume.ClaimRef.UID = volumes.Claim{}, "" }), gone},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoVolumes(false)
			tc.before(&s)
			w, want := &World{State: s.Clone()}, s.Clone()
			if tc.change != nil {
				tc.change(&want)
			}
			if acts := w.BindClaims(plan.SourceSide); acts != (tc.change != nil) {
				t.Errorf("it says that it acts: %t", acts)
			}
			if diff := cmp.Diff(want, w.State); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if w := (&World{State: twoVolumes(false)}); w.BindClaims(plan.DestinationSide) {
		t.Error("where nothing is, something was bound")
	}
}

// TestWorldCreatePod: a created pod gets its missing claims, empty. Its bound volumes are attached to its node, if
// that is modelled and they are not attached already (I2).
func TestWorldCreatePod(t *testing.T) {
	here, there := AttachedTo(plan.SourceSide), AttachedTo(plan.DestinationSide)
	for name, tc := range map[string]struct {
		attaches bool
		change   func(*volumes.Holding)
		want     []volumes.Attachment
	}{
		"attached":               {true, func(*volumes.Holding) {}, []volumes.Attachment{here}},
		"nothing is attached":    {false, func(*volumes.Holding) {}, nil},
		"attached already":       {true, func(h *volumes.Holding) { h.Volume.Attachments = []volumes.Attachment{here} }, []volumes.Attachment{here}},
		"not for the first time": {true, func(h *volumes.Holding) { h.Volume.Attachments = []volumes.Attachment{there} }, []volumes.Attachment{there, here}},
		"not bound":              {true, func(h *volumes.Holding) { h.Claim.Phase = corev1.ClaimPending }, nil},
	} {
		s := twoVolumes(false)
		s.Source.RemovePod(1)
		tc.change(&s.Volumes[lastClaim].Source)
		w, want := &World{State: s.Clone(), Attaches: tc.attaches}, s.Clone()
		w.createPod(plan.SourceSide, 1)
		want.Source.SetPod(plan.Pod{Ordinal: 1, UID: "u1", Owned: true, Node: "source"})
		want.Volumes[lastClaim].Source.Volume.Attachments = tc.want
		if tc.attaches {
			want.Volumes[lastClaim-1].Source.Volume.Attachments = []volumes.Attachment{here}
		}
		if diff := cmp.Diff(want, w.State); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if here == there || here.Name == "" || here.Node != "source" {
		t.Errorf("attached to %+v and %+v", here, there)
	}
	w := &World{State: twoVolumes(false), Attaches: true}
	w.createPod(plan.DestinationSide, 1)
	pending := volumes.Claim{Found: true, UID: "u3", ResourceVersion: "v4", Phase: corev1.ClaimPending}
	if got := w.State.Volumes[lastClaim].Destination; got.Claim.Phase != pending.Phase || !cmp.Equal(got.Claim, pending) || len(got.Volume.Attachments) > 0 {
		t.Errorf("of a pod without claims: %+v", got)
	}
	if w.State.Volumes[0].Destination.Claim.Found {
		t.Error("the claim of another ordinal was made")
	}
}

// TestWorldReady: a pod becomes Ready once all of its own volumes are bound, and not while it terminates.
func TestWorldReady(t *testing.T) {
	unbound := func(k int) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Volumes[k].Source.Claim.Phase = corev1.ClaimPending }
	}
	starts := func(s *plan.Snapshot) { s.Source.Pods[1].Ready = false }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"it starts":                  {starts, true},
		"it is Ready":                {func(*plan.Snapshot) {}, false},
		"it ends":                    {func(s *plan.Snapshot) { starts(s); s.Source.Pods[1].Terminating = true }, false},
		"it is not there":            {func(s *plan.Snapshot) { s.Source.RemovePod(1) }, false},
		"one claim is not bound":     {func(s *plan.Snapshot) { starts(s); unbound(lastClaim)(s) }, false},
		"another's is not bound":     {func(s *plan.Snapshot) { starts(s); unbound(0)(s) }, true},
		"it is not one of this side": {func(s *plan.Snapshot) { s.Source.Pods, s.Destination.Pods = nil, s.Source.Pods }, false},
	} {
		s := twoVolumes(false)
		tc.change(&s)
		w, want := &World{State: s.Clone()}, s.Clone()
		if tc.want {
			want.Source.Pods[1].Ready, want.Source.Pods[1].ReadySince = true, s.Now
		}
		if got := w.Ready(plan.SourceSide, 1); got != tc.want {
			t.Errorf("%s: it says that it acts: %t", name, got)
		}
		if diff := cmp.Diff(want, w.State); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
