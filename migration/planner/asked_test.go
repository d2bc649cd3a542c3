package planner

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestAskedAnew: no handoff begins while the spec requests another method than the accepted one. In a rollback,
// each ordinal uses the method by which it moved (I3, I8).
func TestAskedAnew(t *testing.T) {
	asked := func(method api.VolumeMethod, class string) api.VolumeSpec {
		v := api.VolumeSpec{ClaimTemplate: "data", Method: method}
		if class != "" {
			v.StorageClassName = &class
		}
		return v
	}
	accepted := func(was api.VolumeSpec, now ...api.VolumeSpec) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Baseline.Volumes, s.Spec.Volumes = []api.VolumeSpec{was}, now }
	}
	unrecorded := func(now ...api.VolumeSpec) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Source.Set.Templates, s.Spec.Volumes = []string{"data"}, now }
	}
	back := func(change func(*plan.Snapshot)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { rollback(s); change(s) }
	}
	modes := func(v api.VolumeSpec, mode corev1.PersistentVolumeAccessMode) api.VolumeSpec {
		v.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
		return v
	}
	rebind, copied := asked(api.MethodRebind, ""), asked(api.MethodCopy, "")
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		says   string
	}{
		"nothing was recorded":            {unrecorded(copied), "status.baseline.volumes lacks claim template data"},
		"nor is anything asked for":       {unrecorded(), "status.baseline.volumes lacks claim template data"},
		"back, nothing was recorded":      {back(unrecorded(copied)), ""},
		"as it was accepted":              {accepted(copied, copied), ""},
		"what is the default":             {accepted(rebind), ""},
		"the default, by its name":        {accepted(rebind, api.VolumeSpec{ClaimTemplate: "data"}), ""},
		"another template":                {accepted(rebind, api.VolumeSpec{ClaimTemplate: "logs", Method: api.MethodCopy}), ""},
		"Copy becomes Rebind":             {accepted(copied, rebind), "claim template data moves by method Copy with the source's storage class, but the spec has method Rebind with"},
		"Rebind becomes Copy":             {accepted(rebind, copied), "moves by method Rebind"},
		"Copy becomes Snapshot":           {accepted(copied, asked(api.MethodSnapshot, "")), "method Snapshot"},
		"Rebind becomes Empty":            {accepted(rebind, asked(api.MethodEmpty, "")), "method Empty"},
		"the template is dropped":         {accepted(copied), "the spec has method Rebind with the source's storage class"},
		"another class":                   {accepted(asked(api.MethodRebind, "fast"), asked(api.MethodRebind, "slow")), `method Rebind with storage class "fast", but the spec has method Rebind with storage class "slow"`},
		"other access modes":              {accepted(modes(rebind, corev1.ReadWriteOnce), modes(rebind, corev1.ReadWriteOncePod)), "claim template data moves by method Rebind with the source's storage class and access modes ReadWriteOnce, but the spec has method Rebind with the source's storage class and access modes ReadWriteOncePod"},
		"its class is dropped":            {accepted(asked(api.MethodRebind, "fast")), `moves by method Rebind with storage class "fast"`},
		"back, Copy becomes Rebind":       {back(accepted(copied, rebind)), ""},
		"back, another class is asked of": {back(accepted(rebind, asked(api.MethodRebind, "slow"))), ""},
	} {
		hold := halfway(tc.change).askedAnew()
		switch {
		case tc.says == "":
			if hold != nil {
				t.Errorf("%s: %+v", name, hold)
			}
		case hold == nil || hold.Reason != api.ReasonVolumesChanged || !hold.Stalled || !strings.Contains(hold.Message, tc.says) || !strings.Contains(hold.Remedy, "kubectl migrate rollback"):
			t.Errorf("%s: %+v, want to be told %q", name, hold, tc.says)
		case heldBy(halfway(tc.change).gate(1)) == "":
			t.Errorf("%s: the gate is open", name)
		}
	}
}
