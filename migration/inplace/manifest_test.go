package inplace

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// live is a set as an API server returns it, with a field that this program does not know.
const live = `{
	"apiVersion": "apps/v1", "kind": "StatefulSet",
	"metadata": {
		"namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-11-30T08:00:00Z",
		"labels": {"app": "web"}, "finalizers": ["example.com/kept"], "managedFields": [{"manager": "kubectl"}],
		"annotations": {"migration.sliceshift.io/fence": "x.1", "migration.sliceshift.io/poked-for": "c 1", "team": "shop"}
	},
	"spec": {
		"replicas": 3, "later": {"field": true}, "selector": {"matchLabels": {"app": "web"}},
		"volumeClaimTemplates": [
			{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "volumeAttributesClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}}},
			{"metadata": {"name": "raw", "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}}, "spec": {"accessModes": ["ReadWriteOnce"], "volumeMode": "Block", "resources": {"requests": {"storage": "2Gi"}}}},
			{"metadata": {"name": "logs"}, "spec": {"accessModes": ["ReadWriteMany", "ReadWriteOnce"], "resources": {"requests": {"storage": "10Mi"}}}}
		]
	},
	"status": {"replicas": 3}
}`

func liveSet(t *testing.T) Live {
	t.Helper()
	var set Live
	if err := json.Unmarshal([]byte(live), &set); err != nil {
		t.Fatal(err)
	}
	return set
}

const gibibyte = 1 << 30

// TestManifest: a set is recorded as it can be created again, with fields of other versions, and without what the API server
// and the migration set.
func TestManifest(t *testing.T) {
	m, err := liveSet(t).Manifest("standard")
	if err != nil {
		t.Fatal(err)
	}
	want := []Template{
		{Name: "data", Class: "slow", Size: gibibyte, Attributes: "gold", Modes: "ReadWriteOnce"},
		{Name: "raw", Class: "old", Size: 2 * gibibyte, Block: true, Modes: "ReadWriteOnce"},
		{Name: "logs", Class: "standard", Size: 10 << 20, Modes: "ReadWriteMany+ReadWriteOnce"},
	}
	if diff := cmp.Diff(want, m.Templates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, kept := range []string{`"later":{"field":true}`, `"team":"shop"`, `"finalizers":["example.com/kept"]`, `"app":"web"`} {
		if !strings.Contains(m.Text, kept) {
			t.Errorf("%s is lost in %s", kept, m.Text)
		}
	}
	for _, left := range []string{"status", "resourceVersion", "poked-for", "fence", `"uid"`, "creationTimestamp"} {
		if strings.Contains(m.Text, left) {
			t.Errorf("%s is left in %s", left, m.Text)
		}
	}
}

// TestWant: only the fields that are asked for change, and nothing of the live set does.
func TestWant(t *testing.T) {
	size := resource.MustParse("512Mi")
	for name, tc := range map[string]struct {
		asked      []api.VolumeSpec
		want       map[string]Template
		objections int
	}{
		"nothing":             {},
		"no field":            {asked: []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodCopy}}},
		"an unknown template": {asked: []api.VolumeSpec{{ClaimTemplate: "other", Size: &size}}, objections: 1},
		"a class, which ends the other's attributes": {
			asked: []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("fast")}},
			want:  map[string]Template{"data": {Name: "data", Class: "fast", Size: gibibyte, Modes: "ReadWriteOnce"}},
		},
		"the same class, which keeps them": {asked: []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("slow")}}},
		"a class of a block volume, instead of the annotation": {
			asked: []api.VolumeSpec{{ClaimTemplate: "raw", StorageClassName: new("fast"), Size: &size}},
			want:  map[string]Template{"raw": {Name: "raw", Class: "fast", Size: 512 << 20, Block: true, Modes: "ReadWriteOnce"}},
		},
		"attributes, and none": {
			asked: []api.VolumeSpec{{ClaimTemplate: "data", VolumeAttributesClassName: new("")}, {ClaimTemplate: "logs", VolumeAttributesClassName: new("gold")}},
			want: map[string]Template{
				"data": {Name: "data", Class: "slow", Size: gibibyte, Modes: "ReadWriteOnce"},
				"logs": {Name: "logs", Class: "standard", Size: 10 << 20, Attributes: "gold", Modes: "ReadWriteMany+ReadWriteOnce"},
			},
		},
		"access modes": {
			asked: []api.VolumeSpec{{ClaimTemplate: "data", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}}},
			want:  map[string]Template{"data": {Name: "data", Class: "slow", Size: gibibyte, Attributes: "gold", Modes: "ReadWriteOncePod"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := liveSet(t)
			before, err := set.Manifest("standard")
			if err != nil {
				t.Fatal(err)
			}
			wanted, objections, err := set.Want(tc.asked)
			if err != nil || len(objections) != tc.objections {
				t.Fatalf("%v, %v", objections, err)
			}
			got, err := wanted.Manifest("standard")
			if err != nil {
				t.Fatal(err)
			}
			want := Manifest{Templates: append([]Template(nil), before.Templates...)}
			for i, template := range want.Templates {
				if other, changes := tc.want[template.Name]; changes {
					want.Templates[i] = other
				}
			}
			if diff := cmp.Diff(want.Templates, got.Templates); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(tc.want) == 0 && got.Text != before.Text {
				t.Errorf("it has become %s", got.Text)
			}
			if after, err := set.Manifest("standard"); err != nil || after.Text != before.Text {
				t.Errorf("the live set has become %s: %v", after.Text, err)
			}
		})
	}
}

// TestIn: recorded claim templates return into a set whose other fields have changed.
func TestIn(t *testing.T) {
	set := liveSet(t)
	former, err := set.Manifest("standard")
	if err != nil {
		t.Fatal(err)
	}
	wanted, _, err := set.Want([]api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("fast")}})
	if err != nil {
		t.Fatal(err)
	}
	under(wanted, "spec")["replicas"] = 5
	back, err := former.In(wanted)
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Manifest("standard")
	if err != nil || !got.Equals(former) || !strings.Contains(got.Text, `"replicas":5`) {
		t.Errorf("got %s, %v", got.Text, err)
	}
	if claim := got.Claim("raw"); claim == nil || *claim.Spec.VolumeMode != corev1.PersistentVolumeBlock || claim.Labels["app"] != "web" || got.Claim("other") != nil {
		t.Errorf("claim template raw: %+v", claim)
	}
}

// TestSame: the owners of fields do not count, and all other fields do.
func TestSame(t *testing.T) {
	const set = `{"metadata":{"name":"web","managedFields":[{"manager":"MANAGER"}]},"spec":{"replicas":3,"image":"IMAGE"}}`
	of := func(manager, image string) Manifest {
		return Manifest{Text: strings.NewReplacer("MANAGER", manager, "IMAGE", image).Replace(set)}
	}
	if one := of("kubectl", "app:1"); !one.same(of("helm", "app:1")) || one.same(of("kubectl", "app:2")) || one.same(Manifest{Text: "{"}) || !(Manifest{}).same(Manifest{}) {
		t.Errorf("compared %s", one.Text)
	}
}

// TestRecordIsStored: a record survives its storage.
func TestRecordIsStored(t *testing.T) {
	m, err := liveSet(t).Manifest("standard")
	if err != nil {
		t.Fatal(err)
	}
	for name, record := range map[string]Record{
		"none": {},
		"all": {
			Former: m, Replace: &Replace{UID: "u", Next: m}, Reached: api.ModeRollback, Written: m.Templates, Back: "why", BackIn: api.ModeRun,
			Handoff: &Handoff{Ordinal: 2, Return: true, Sealed: true, Turned: true, Why: "because", Slots: []Handed{{Template: "data", Claim: "c", Old: "old", New: "new", Seal: "s"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ordinal *int32
			if record.Handoff != nil {
				ordinal = &record.Handoff.Ordinal
			}
			if diff := cmp.Diff(record, RecordOf(record.Status(), ordinal)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
