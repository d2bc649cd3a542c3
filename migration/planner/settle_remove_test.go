package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// moveEnded is a migration whose ordinals have all moved, and that deletes its source.
func moveEnded(s *plan.Snapshot) {
	plantest.AllMoved(s)
	s.Record.Completed, s.Spec.DeleteSource, s.Source.Pods = api.ReasonMoved, true, nil
}

// removed deletes the source's claims and volumes of all ordinals.
func removed(s *plan.Snapshot) {
	for i := range s.Volumes {
		s.Volumes[i].Source = plantest.NothingOf(s.Volumes[i].Ordinal)
	}
}

// TestCleanSource: claims and volumes of the source are deleted, and last its budget and the StatefulSet. This
// requires that the move is complete, the spec requests it, the StatefulSet belongs to this migration, and no pod
// or ordinal is left (I1, I3).
func TestCleanSource(t *testing.T) {
	unbudgeted := func(s *plan.Snapshot) { s.Source.Budgets = nil }
	released := func(s *plan.Snapshot) { s.Destination.Set.Fence = "" }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"a claim":              {nil, "DeleteClaim source data-web-1 sc-1@5"},
		"its volume":           {func(s *plan.Snapshot) { s.Volumes[0].Source.Claim = volumes.Claim{} }, "DeleteVolume source pv-1 sv-1@6"},
		"it is not over":       {func(s *plan.Snapshot) { s.Record.Completed = "" }, ""},
		"it was rolled back":   {func(s *plan.Snapshot) { s.Record.Completed = api.ReasonRolledBack }, ""},
		"it was not asked for": {func(s *plan.Snapshot) { s.Spec.DeleteSource = false }, ""},
		"it was let go":        {func(s *plan.Snapshot) { s.Source.Set.Fence = "" }, ""},
		"it is another's":      {func(s *plan.Snapshot) { s.Source.Set.Fence = "another.1" }, ""},
		"a pod of the ordinal": {func(s *plan.Snapshot) { s.Source.Pods = []plan.Pod{{Ordinal: 1}} }, api.ReasonPodTerminating},
		"a pod of another one": {func(s *plan.Snapshot) { s.Source.Pods = []plan.Pod{{Ordinal: 2}} }, "DeleteClaim source data-web-1 sc-1@5"},
		"the destination lacks one": {func(s *plan.Snapshot) {
			s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 3
		}, "DeleteClaim source data-web-2 sc-2@5"},
		"the source has one":             {func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }, "DeleteClaim source data-web-2 sc-2@5"},
		"then its budget":                {removed, "DeleteBudget source web sb@3"},
		"another's budget":               {plantest.InTurn(removed, released, func(s *plan.Snapshot) { s.Source.Budgets[0].Name = "everything" }), "DeleteSet source web s@1"},
		"a budget of others' pods, too":  {plantest.InTurn(removed, released, func(s *plan.Snapshot) { s.Source.Budgets[0].Covers = "job-1" }), "DeleteSet source web s@1"},
		"a budget that it did not find":  {plantest.InTurn(removed, released, func(s *plan.Snapshot) { s.Record.Baseline.DisruptionBudget = nil }), "DeleteSet source web s@1"},
		"several budgets":                {plantest.InTurn(removed, released, func(s *plan.Snapshot) { s.Source.Budgets = append(s.Source.Budgets, plan.Budget{Name: "all"}) }), "DeleteSet source web s@1"},
		"Y9 the destination inherits":    {plantest.InTurn(removed, unbudgeted), "ReleaseFence destination web d@2"},
		"then itself":                    {plantest.InTurn(removed, released, unbudgeted), "DeleteSet source web s@1"},
		"a budget of both sides stays":   {plantest.InTurn(removed, released, func(s *plan.Snapshot) { s.Spec.SameNamespace = true }), "DeleteSet source web s@1"},
		"of one ordinal alone":           {plantest.InTurn(removed, func(s *plan.Snapshot) { s.Focused = true }), api.ReasonMoving},
		"it goes already":                {plantest.InTurn(removed, unbudgeted, func(s *plan.Snapshot) { s.Source.Set.Terminating = true }), ""},
		"it has an ordinal":              {plantest.InTurn(removed, unbudgeted, func(s *plan.Snapshot) { s.Source.Set.Replicas = 1 }), ""},
		"it has a pod of the move":       {plantest.InTurn(removed, unbudgeted, func(s *plan.Snapshot) { s.Source.Pods, s.Volumes = []plan.Pod{{Ordinal: 1}}, nil }), api.ReasonPodTerminating},
		"it has a pod":                   {plantest.InTurn(removed, unbudgeted, func(s *plan.Snapshot) { s.Source.Pods = []plan.Pod{{Ordinal: 7}} }), ""},
		"not all has moved":              {plantest.InTurn(removed, unbudgeted, func(s *plan.Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 3 }), ""},
		"what is kept says another disk": {func(s *plan.Snapshot) { s.Volumes[0].Destination.Volume.Handle = "empty" }, volumes.ReasonAnotherDisk},
	} {
		if got := does(parted(plantest.InTurn(moveEnded, tc.change)).cleanSource()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestCleanDestination: the migration's objects at the destination are deleted, except those of the ordinals that
// the destination owns. Foreign objects remain (I3).
func TestCleanDestination(t *testing.T) {
	theirs := func(s *plan.Snapshot) {
		for i := range s.Volumes {
			s.Volumes[i].Destination.Claim.Ours, s.Volumes[i].Destination.Volume.Ours = false, false
		}
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"a claim":            {nil, "DeleteClaim destination data-web-3 dc-3@5"},
		"its volume":         {func(s *plan.Snapshot) { s.Volumes[2].Destination.Claim = volumes.Claim{} }, "DeleteVolume destination pv-3 dv-3@6"},
		"what is theirs":     {theirs, ""},
		"nothing was made":   {func(s *plan.Snapshot) { s.Volumes = s.Volumes[:2] }, ""},
		"it has an ordinal":  {func(s *plan.Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 3, 1 }, "DeleteClaim destination data-web-4 dc-4@5"},
		"it has them":        {func(s *plan.Snapshot) { s.Destination.Set.Start, s.Destination.Set.Replicas = 3, 2 }, ""},
		"the last of a disk": {func(s *plan.Snapshot) { s.Volumes[2].Source.Claim.Found = false }, volumes.ReasonAnotherDisk},
	} {
		if got := does(parted(plantest.InTurn(plantest.AllBack, tc.change)).cleanDestination()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRemoveClaim: a claim without its volume is deleted, once the binder has observed that. Until then it is
// marked, and a late delete is refused. A claim with its volume remains (I3). A foreign claim remains, too, unless
// it is the source's and its deletion is requested.
func TestRemoveClaim(t *testing.T) {
	const deleted = "DeleteClaim destination data-web-3 dc-3@5"
	for name, tc := range map[string]struct {
		change  func(*volumes.Holding)
		foreign bool
		want    string
	}{
		"it has lost its volume":      {func(*volumes.Holding) {}, false, deleted},
		"the binder has not seen it":  {func(h *volumes.Holding) { h.Claim.Phase = corev1.ClaimBound }, false, "CarryVolume destination pv-3 "},
		"it was marked in this epoch": {func(h *volumes.Holding) { h.Claim.Phase, h.Claim.Fence = corev1.ClaimBound, "m.2" }, false, api.ReasonAwaitingDeletion},
		"it was marked in an older": {func(h *volumes.Holding) {
			h.Claim.Phase, h.Claim.Fence = corev1.ClaimBound, "m.1"
		}, false, "CarryVolume destination pv-3 "},
		"it is bound":                   {func(h *volumes.Holding) { *h = plantest.BoundAt("d", 3) }, false, ""},
		"its volume still names it":     {func(h *volumes.Holding) { h.Volume.ClaimRef.UID = h.Claim.UID }, false, ""},
		"it is gone":                    {func(h *volumes.Holding) { h.Claim.Found = false }, false, ""},
		"it is gone, and was bound":     {func(h *volumes.Holding) { h.Claim.Found, h.Claim.Phase = false, corev1.ClaimBound }, false, ""},
		"it goes":                       {func(h *volumes.Holding) { h.Claim.Terminating = true }, false, ""},
		"theirs":                        {func(h *volumes.Holding) { h.Claim.Ours = false }, false, ""},
		"theirs, and asked for":         {func(h *volumes.Holding) { h.Claim.Ours = false }, true, deleted},
		"it goes, and was asked for":    {func(h *volumes.Holding) { h.Claim.Terminating = true }, true, ""},
		"it is bound, and asked for":    {func(h *volumes.Holding) { *h = plantest.BoundAt("d", 3) }, true, ""},
		"pending, and another's volume": {func(h *volumes.Holding) { h.Claim.Phase = corev1.ClaimPending }, false, deleted},
	} {
		v := plantest.Returned(3)
		tc.change(&v.Destination)
		if got := does(parted(nil).removeClaim(plan.DestinationSide, v, tc.foreign)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	v := plantest.CarriedOver(3)
	v.Source.Claim.Phase = corev1.ClaimBound
	d := parted(nil).removeClaim(plan.SourceSide, v, true)
	if got := does(d); got != "CarryVolume source pv-3 " {
		t.Fatalf("the source's: %q", got)
	}
	e := d.Effect
	if e.Ordinal != 3 || e.Template != "data" || e.Volume.Verb != volumes.MarkClaim || e.Volume.UID != "sc-3" || e.Volume.Fence != "m.2" {
		t.Errorf("it is marked by %+v", e)
	}
}

// TestRemoveVolume: a volume is deleted if it is parked, has policy Retain, is not attached, and its claim is
// deleted (I3). In one cluster it belongs to the other side. A foreign volume remains, and so does one with a
// recreated foreign claim.
func TestRemoveVolume(t *testing.T) {
	const deleted = "DeleteVolume destination pv-3 dv-3@6"
	gone := func(v *plan.OrdinalVolume) { v.Destination.Claim = volumes.Claim{} }
	for name, tc := range map[string]struct {
		change  func(*plan.OrdinalVolume)
		foreign bool
		want    string
	}{
		"its claim is gone":  {gone, false, deleted},
		"its claim is there": {nil, false, api.ReasonAwaitingDeletion},
		"its claim goes":     {func(v *plan.OrdinalVolume) { v.Destination.Claim.Terminating = true }, false, api.ReasonAwaitingDeletion},
		"another's claim":    {func(v *plan.OrdinalVolume) { v.Destination.Claim.Ours = false }, false, ""},
		"another's claim goes": {func(v *plan.OrdinalVolume) {
			v.Destination.Claim.Ours, v.Destination.Claim.Terminating = false, true
		}, false, api.ReasonAwaitingDeletion},
		"another's claim, asked for": {func(v *plan.OrdinalVolume) { v.Destination.Claim.Ours = false }, true, api.ReasonAwaitingDeletion},
		"it is gone":                 {func(v *plan.OrdinalVolume) { gone(v); v.Destination.Volume = volumes.Volume{} }, false, ""},
		"it goes":                    {func(v *plan.OrdinalVolume) { gone(v); v.Destination.Volume.Terminating = true }, false, ""},
		"it is not parked":           {func(v *plan.OrdinalVolume) { gone(v); v.Destination.Volume.ClaimRef = v.Destination.Ref }, false, ""},
		"another's":                  {func(v *plan.OrdinalVolume) { gone(v); v.Destination.Volume.Ours = false }, false, ""},
		"another's, asked for":       {func(v *plan.OrdinalVolume) { gone(v); v.Destination.Volume.Ours = false }, true, deleted},
		"ours, asked for":            {gone, true, deleted},
		"its disk would be deleted": {func(v *plan.OrdinalVolume) {
			gone(v)
			v.Destination.Volume.Policy = corev1.PersistentVolumeReclaimDelete
		}, false, volumes.ReasonVolumeNotRetain},
		"it is attached": {func(v *plan.OrdinalVolume) {
			gone(v)
			v.Destination.Volume.Attachments = make([]volumes.Attachment, 1)
		}, false, api.ReasonVolumeAttached},
		"it would be, and is attached": {func(v *plan.OrdinalVolume) {
			gone(v)
			v.Destination.Volume.Policy = "Recycle"
			v.Destination.Volume.Attachments = make([]volumes.Attachment, 1)
		}, false, volumes.ReasonVolumeNotRetain},
	} {
		v := plantest.Returned(3)
		if tc.change != nil {
			tc.change(&v)
		}
		if got := does(parted(nil).removeVolume(plan.DestinationSide, v, tc.foreign)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	v := plantest.Returned(3)
	gone(&v)
	if got := parted(func(s *plan.Snapshot) { s.Spec.SameCluster = true }).removeVolume(plan.DestinationSide, v, false); got != nil {
		t.Errorf("in one cluster: %+v", got)
	}
}

// TestLastRecord: nothing is deleted on one side while the other side is not on the ordinal's disk: it may be the
// last record of that disk (I3).
func TestLastRecord(t *testing.T) {
	astray := func(v *plan.OrdinalVolume) { v.Destination.Claim.Volume = "pv-empty" }
	for name, tc := range map[string]struct {
		name   plan.SideName
		change func(*plan.OrdinalVolume)
		want   string
	}{
		"the destination is on its disk":  {plan.SourceSide, func(*plan.OrdinalVolume) {}, ""},
		"the source is not":               {plan.DestinationSide, func(*plan.OrdinalVolume) {}, volumes.ReasonAnotherDisk},
		"the destination is on another":   {plan.SourceSide, astray, volumes.ReasonAnotherDisk},
		"the volume alone is left":        {plan.SourceSide, func(v *plan.OrdinalVolume) { astray(v); v.Source.Claim = volumes.Claim{} }, volumes.ReasonAnotherDisk},
		"the claim alone is left":         {plan.SourceSide, func(v *plan.OrdinalVolume) { astray(v); v.Source.Volume = volumes.Volume{} }, volumes.ReasonAnotherDisk},
		"nothing is left":                 {plan.SourceSide, func(v *plan.OrdinalVolume) { astray(v); v.Source = plantest.NothingOf(3) }, ""},
		"the source is on its disk again": {plan.DestinationSide, func(v *plan.OrdinalVolume) { *v = plantest.Returned(3) }, ""},
		"the destination is not, by then": {plan.SourceSide, func(v *plan.OrdinalVolume) { *v = plantest.Returned(3) }, volumes.ReasonAnotherDisk},
	} {
		v := plantest.CarriedOver(3)
		tc.change(&v)
		if got := does(parted(nil).lastRecord(tc.name, v)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestRemoveDestinationSet: the created StatefulSet is deleted in a rollback, when it has no ordinal and no pod.
// First its UID is removed from the record, so that its absence is no error.
func TestRemoveDestinationSet(t *testing.T) {
	forgotten := func(s *plan.Snapshot) { s.Record.Baseline.DestinationUID = "" }
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"it is not missed":   {forgotten, "DeleteSet destination web d@2"},
		"it is its owner's":  {plantest.InTurn(forgotten, func(s *plan.Snapshot) { s.Destination.Set.Ours = false }), ""},
		"it goes":            {plantest.InTurn(forgotten, func(s *plan.Snapshot) { s.Destination.Set.Terminating = true }), ""},
		"it has an ordinal":  {plantest.InTurn(forgotten, func(s *plan.Snapshot) { s.Destination.Set.Replicas = 1 }), ""},
		"it has a pod":       {plantest.InTurn(forgotten, func(s *plan.Snapshot) { s.Destination.Pods = []plan.Pod{{Ordinal: 4}} }), api.ReasonPodTerminating},
		"it was not seen":    {plantest.InTurn(forgotten, func(s *plan.Snapshot) { s.Destination.Set.Presence = plan.Unreachable }), ""},
		"it is gone already": {func(s *plan.Snapshot) { s.Destination.Set = plan.Set{Presence: plan.Absent, Name: "web"} }, ""},
	} {
		if got := does(parted(plantest.InTurn(plantest.AllBack, tc.change)).removeDestinationSet()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	p := parted(plantest.AllBack)
	want, base := p.Record, *p.Record.Baseline
	base.DestinationUID = ""
	want.Baseline = &base
	if diff := cmp.Diff(&plan.Decision{Record: &want}, p.removeDestinationSet()); diff != "" {
		t.Errorf("it is still missed: -want +got\n%s", diff)
	}
}
