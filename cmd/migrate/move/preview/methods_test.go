package preview

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/volumes"
)

// withData returns an application of one replica whose volume moves by the given method and settings.
func withData(method api.VolumeMethod, word volumes.Word) plan.Snapshot {
	s := movetest.Application{Replicas: 1, Templates: []string{"data"}}.Snapshot()
	s.Volumes[0].Method, s.Volumes[0].Word = method, word
	return s
}

// TestMethods: for each claim template the plan lists which methods can be used, and why others cannot.
func TestMethods(t *testing.T) {
	said := volumes.Word{FillsFromPeers: true, FilledShown: true}
	nothing, missing := func(*plan.Snapshot) {}, []plan.Finding{{Reason: volumes.ReasonDriverMissing}}
	for name, tc := range map[string]struct {
		method        api.VolumeMethod
		word          volumes.Word
		change        func(*plan.Snapshot)
		found         []plan.Finding
		rebind, empty string
	}{
		"both": {api.MethodRebind, said, nothing, nil, "", ""},
		"in one cluster": {api.MethodRebind, said, func(s *plan.Snapshot) {
			s.Spec.SameCluster, s.Volumes[0].Destination.Volume = true, s.Volumes[0].Source.Volume
		}, nil, "", ""},
		"a path": {api.MethodRebind, said, func(s *plan.Snapshot) {
			s.Volumes[0].Source.Volume.Barred = volumes.Reason{Reason: volumes.ReasonVolumeIsLocal}
		}, nil, volumes.ReasonVolumeIsLocal, ""},
		"nothing is said": {api.MethodRebind, volumes.Word{}, nothing, nil, "", volumes.ReasonEmptyUnconfirmed},
		"no driver there": {api.MethodRebind, said, nothing, missing, volumes.ReasonDriverMissing, ""},
		"only a warning":  {api.MethodEmpty, said, nothing, []plan.Finding{{Reason: volumes.ReasonDriverMissing, Warning: true}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := withData(tc.method, tc.word)
			tc.change(&s)
			want := []Template{{ClaimTemplate: "data", Method: tc.method, Methods: []Choice{{Method: api.MethodCopy, Reason: volumes.ReasonCopyImageMissing}, {Method: api.MethodEmpty, Reason: tc.empty}, {Method: api.MethodRebind, Reason: tc.rebind}, {Method: api.MethodSnapshot, Reason: volumes.ReasonSnapshotUnsupported}}}}
			if diff := cmp.Diff(want, methodsOf(&api.Migration{}, s, tc.found), cmpopts.IgnoreFields(Choice{}, "Why", "Remedy")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestClaimsThatChange: a plan lists the settings in which claims at the destination differ from those of the source.
func TestClaimsThatChange(t *testing.T) {
	size := resource.MustParse("20Gi")
	s := withData(api.MethodCopy, volumes.Word{})
	s.Volumes[0].Copy = &volumes.Copying{Asked: volumes.CopyAsked{Image: "manager"}}
	for name, tc := range map[string]struct {
		asked api.VolumeSpec
		want  string
	}{
		"nothing":   {api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy}, ""},
		"a class":   {api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new("fast")}, "those of data at the destination: class fast\n"},
		"all of it": {api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new("fast"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, Copy: api.CopySpec{Size: &size}}, "those of data at the destination: class fast, ReadWriteOncePod, 20Gi\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{tc.asked}}}
			if err := (Printer{Out: &out}).Print(NewPlan(m, Beginning, s)); err != nil {
				t.Fatal(err)
			}
			if tc.want == "" && strings.Contains(out.String(), "at the destination:") || !strings.Contains(out.String(), tc.want) {
				t.Errorf("want %q in\n%s", tc.want, out.String())
			}
		})
	}
}

// TestPreflightSaysItOnce: findings with the same text for several ordinals are one finding.
func TestPreflightSaysItOnce(t *testing.T) {
	s := movetest.Application{Replicas: 3, Templates: []string{"data"}}.Snapshot()
	for i := range s.Volumes {
		s.Volumes[i].Method = api.MethodCopy
	}
	found := 0
	for _, f := range preflight.Findings(s) {
		if f.Reason == string(volumes.ReasonCopyImageMissing) {
			found++
		}
	}
	if all := len(planner.Preflight(s)); found != 1 || all < 3 {
		t.Errorf("it is said %d times, of %d findings", found, all)
	}
}

// TestMethodsAreTold: a plan that is refused for its storage lists the other methods.
func TestMethodsAreTold(t *testing.T) {
	said := volumes.Word{FillsFromPeers: true, FilledShown: true}
	s := withData("", said)
	s.Volumes[0].Source.Volume.Barred = volumes.Reason{Reason: volumes.ReasonVolumeIsLocal, Message: "volume pv is a path on a machine"}
	s.Preflight = []plan.Finding{{Reason: volumes.ReasonVolumeIsLocal, Message: "volume pv is a path on a machine"}}
	var out bytes.Buffer
	if err := (Printer{Out: &out}).Print(NewPlan(&api.Migration{}, Beginning, s)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Claim template data moves by Rebind:", "Empty    nothing was found against it", "Rebind   VolumeIsLocal, see above"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	out.Reset()
	s = withData(api.MethodEmpty, said)
	if err := (Printer{Out: &out}).Print(NewPlan(&api.Migration{}, Beginning, s)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1 volume left behind, parked and kept", "StartsEmpty", "for a new volume"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestMethodsAreForThoseWhoAsk: without an obstacle for the chosen method, only wide output lists the others.
func TestMethodsAreForThoseWhoAsk(t *testing.T) {
	s := withData(api.MethodCopy, volumes.Word{})
	s.Volumes[0].Copy = &volumes.Copying{Asked: volumes.CopyAsked{Image: "manager"}}
	for wide, want := range map[bool]bool{false: false, true: true} {
		var out bytes.Buffer
		if err := (Printer{Out: &out, Wide: wide}).Print(NewPlan(&api.Migration{}, Beginning, s)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"Claim template data moves by Copy:", "EmptyNotConfirmed", "SnapshotUnsupported"} {
			if strings.Contains(out.String(), text) != want {
				t.Errorf("wide %t: %q in it is %t:\n%s", wide, text, !want, out.String())
			}
		}
	}
}

// TestVolumesThatAreFilled: a plan names the method that fills another volume for each ordinal, and states that the
// previous volume is kept.
func TestVolumesThatAreFilled(t *testing.T) {
	s := withData(api.MethodCopy, volumes.Word{})
	s.Volumes[0].Copy = &volumes.Copying{Asked: volumes.CopyAsked{Image: "manager"}}
	var out bytes.Buffer
	d := NewPlan(&api.Migration{}, Beginning, s)
	if err := (Printer{Out: &out}).Print(d); err != nil {
		t.Fatal(err)
	}
	if want := map[api.VolumeMethod]int{api.MethodCopy: 1}; !cmp.Equal(want, d.Summary.VolumesByMethod) || d.Summary.Volumes != 1 || d.Summary.Kept != 1 {
		t.Errorf("%+v", d.Summary)
	}
	if want := "1 by Copy, 1 volume left behind, parked and kept"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
}
