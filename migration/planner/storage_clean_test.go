package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// cleaning returns a migration that has completed, whose ordinal 2 has left a volume of policy Delete.
func cleaning() plan.Snapshot {
	s := inPlaceSnapshot(0, 1, 2)
	s.Record.Completed, s.Spec.DeleteSource = api.ReasonMoved, true
	for i := range s.Volumes {
		s.Volumes[i].Source.Volume.Seal = "seal"
	}
	ref := s.Volumes[2].Source.Ref
	s.Storage.Left = []plan.Left{{Claim: ref, Volume: volumes.Volume{
		Found: true, Name: "old-2", UID: "old-2", ResourceVersion: "9", Policy: corev1.PersistentVolumeReclaimRetain, Handle: "driver^old-2",
		Note: volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}, ClaimRef: volumes.Parked(ref),
	}}}
	return s
}

// TestStorageIsCleaned: a volume that an ordinal has left gets its own policy back if its user asks for that, the migration
// has completed, and the ordinal runs on another disk that was compared with it. Otherwise it is kept.
func TestStorageIsCleaned(t *testing.T) {
	d := Plan(AsSlices(cleaning()))
	if e := d.Effect; e == nil || e.Verb != plan.RestorePolicy || e.Name != "old-2" || e.UID != "old-2" || e.ResourceVersion != "9" || e.Ordinal != 2 {
		t.Fatalf("got %+v, hold %+v", d, d.Hold)
	}
	if after := d.Effect.Volume.After; after.Policy != corev1.PersistentVolumeReclaimDelete || after.Note != (volumes.Note{}) || after.Fence != "" || after.ClaimRef.UID != "old-2" || after.ClaimRef.Name != "data-web-2_parked" {
		t.Errorf("after it %+v", after)
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		reason string
	}{
		"its user keeps it":          {func(s *plan.Snapshot) { s.Spec.DeleteSource = false }, ""},
		"it has Retain of its own":   {func(s *plan.Snapshot) { s.Storage.Left[0].Volume.Note.Policy = corev1.PersistentVolumeReclaimRetain }, ""},
		"rolled back":                {func(s *plan.Snapshot) { s.Record.Completed, s.Spec.Mode = api.ReasonRolledBack, api.ModeRollback }, ""},
		"the fence is another's":     {func(s *plan.Snapshot) { s.Source.Set.Fence = "other.1" }, ""},
		"without a seal":             {func(s *plan.Snapshot) { s.Volumes[2].Source.Volume.Seal = "" }, volumes.ReasonVolumeNotRetain},
		"not bound":                  {func(s *plan.Snapshot) { s.Volumes[2].Source.Volume.ClaimRef.UID = "other" }, volumes.ReasonVolumeNotRetain},
		"the claim is being deleted": {func(s *plan.Snapshot) { s.Volumes[2].Source.Claim.Terminating = true }, volumes.ReasonVolumeNotRetain},
		"the claim is on it":         {func(s *plan.Snapshot) { s.Storage.Left[0].Volume.Name = "new-2" }, volumes.ReasonVolumeNotRetain},
		"on the same disk":           {func(s *plan.Snapshot) { s.Storage.Left[0].Volume.Handle = s.Volumes[2].Source.Volume.Handle }, volumes.ReasonVolumeNotRetain},
		"with a twin":                {func(s *plan.Snapshot) { s.Storage.Left[0].Twin = "twin" }, volumes.ReasonVolumeNotRetain},
		"attached":                   {func(s *plan.Snapshot) { s.Storage.Left[0].Volume.Attachments = []volumes.Attachment{{Node: "n"}} }, api.ReasonVolumeAttached},
		"its ordinal is not Ready":   {func(s *plan.Snapshot) { s.Source.Pods[2].Ready = false }, api.ReasonPodNotReady},
		"its ordinal does not exist": {func(s *plan.Snapshot) { s.Storage.Left[0].Claim.Name = "data-web-7" }, volumes.ReasonVolumeNotRetain},
	} {
		t.Run(name, func(t *testing.T) {
			s := cleaning()
			tc.change(&s)
			d := Plan(AsSlices(s))
			if d.Effect != nil && d.Effect.Verb == plan.RestorePolicy {
				t.Fatalf("it is cleaned: %+v", d.Effect)
			}
			reason := ""
			if d.Hold != nil {
				reason = d.Hold.Reason
			}
			if reason != tc.reason {
				t.Errorf("held with %q, want %q: %+v", reason, tc.reason, d)
			}
		})
	}
}
