package outlook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

const gib = int64(1) << 30

// template returns a claim template.
func template(name, class, size string) corev1.PersistentVolumeClaim {
	t := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Spec.StorageClassName, t.Spec.AccessModes = &class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	t.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	return t
}

// class returns a StorageClass that expands, and binds for its first pod.
func class(name string) storagev1.StorageClass {
	late := storagev1.VolumeBindingWaitForFirstConsumer
	return storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "disks", AllowVolumeExpansion: new(true), VolumeBindingMode: &late}
}

// node returns a node of a zone.
func node(name, zone string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

// state returns two replicas with templates data and logs, of class slow and 1Gi, with a change of data.
func state(change api.VolumeSpec, adapt ...func(*State)) State {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{template("data", "slow", "1Gi"), template("logs", "slow", "1Gi")}
	change.ClaimTemplate = "data"
	s := State{
		Cluster: "east", Kubectl: plan.Kubectl("east", "--context east"), Set: set, Resource: "sts", Volumes: []api.VolumeSpec{change}, MarginPercent: 10,
		Classes: drift.Classes{Storage: []storagev1.StorageClass{class("slow"), class("fast")}},
		Nodes:   []corev1.Node{node("a", "1"), node("b", "2")},
	}
	s.claim()
	for _, each := range adapt {
		each(&s)
	}
	s.wish()
	return s
}

// claim creates the claims, as the present templates have them.
func (s *State) claim() {
	for ordinal := range int32(2) {
		for i := range s.Set.Spec.VolumeClaimTemplates {
			claim := s.Set.Spec.VolumeClaimTemplates[i].DeepCopy()
			claim.Name = plan.ClaimName(claim.Name, "web", ordinal)
			claim.Spec.VolumeName = "pv-" + claim.Name
			claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
			volume.Spec.StorageClassName, volume.Spec.Capacity = *claim.Spec.StorageClassName, claim.Spec.Resources.Requests
			s.Claims = append(s.Claims, Claim{Ordinal: ordinal, Name: claim.Name, Found: claim, Volume: volume, Template: &s.Set.Spec.VolumeClaimTemplates[i]})
		}
	}
}

// wish sets the wanted templates of the claims.
func (s *State) wish() {
	wanted := Wanted(s.Set.Spec.VolumeClaimTemplates, s.Volumes)
	for i := range s.Claims {
		s.Claims[i].Template = find(wanted, s.Claims[i].Template.Name)
	}
}

func size(text string) *resource.Quantity { return new(resource.MustParse(text)) }

// copied is a copy into another class.
var copied = api.VolumeSpec{Method: api.MethodCopy, StorageClassName: new("fast"), Copy: api.CopySpec{Image: "m"}}

// TestWork: each ordinal has the work of its claims; only a new volume stops it, and a template without a change keeps its
// volumes.
func TestWork(t *testing.T) {
	grown := func(s *State) {
		s.Claims[0].Found.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
		s.Claims[0].Found.Status.Capacity = s.Claims[0].Found.Spec.Resources.Requests
	}
	for name, tc := range map[string]struct {
		state State
		// want are the works of the claims of template data, ordinal 1 first.
		want    [2]Work
		stopped int
		bytes   int64
	}{
		"nothing":              {state(api.VolumeSpec{}), [2]Work{Nothing, Nothing}, 0, 0},
		"a copy":               {state(copied), [2]Work{Copy, Copy}, 2, 2 * gib},
		"a copy of known size": {state(copied, func(s *State) { s.Claims[0].Used = 7 }), [2]Work{Copy, Copy}, 2, gib + 7},
		"a snapshot":           {state(api.VolumeSpec{Method: api.MethodSnapshot, StorageClassName: new("fast")}), [2]Work{Snapshot, Snapshot}, 2, 2 * gib},
		"growth":               {state(api.VolumeSpec{Method: api.MethodRebind, Size: size("2Gi")}), [2]Work{Expand, Expand}, 0, 0},
		"growth that was done": {state(api.VolumeSpec{Method: api.MethodRebind, Size: size("2Gi")}, grown), [2]Work{Expand, Nothing}, 0, 0},
		"growth by the driver": {state(api.VolumeSpec{Method: api.MethodCopy, Size: size("2Gi")}), [2]Work{Expand, Expand}, 0, 0},
		"growth by a copy":     {state(api.VolumeSpec{Method: api.MethodCopy, Size: size("2Gi")}, func(s *State) { s.Classes.Storage[0].AllowVolumeExpansion = nil }), [2]Work{Copy, Copy}, 2, 2 * gib},
		"growth, and a copy of another class": {state(api.VolumeSpec{Method: api.MethodCopy, Size: size("2Gi")}, func(s *State) {
			s.Claims[0].Found.Spec.StorageClassName, s.Claims[0].Volume.Spec.StorageClassName = new("fast"), "fast"
		}), [2]Work{Expand, Copy}, 1, gib},
		"kept, another class": {state(api.VolumeSpec{Method: api.MethodRebind, StorageClassName: new("fast")}), [2]Work{Impossible, Impossible}, 0, 0},
		"attributes": {state(api.VolumeSpec{Method: api.MethodRebind, VolumeAttributesClassName: new("gold")}, func(s *State) {
			s.Classes.Attributes = []storagev1.VolumeAttributesClass{{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, DriverName: "disks"}}
		}), [2]Work{Modify, Modify}, 0, 0},
		"a claim that is missing": {state(copied, func(s *State) { s.Claims[0].Found, s.Claims[0].Volume = nil, nil }), [2]Work{Copy, Impossible}, 1, gib},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(tc.state, 1, nil)
			got := [2]Work{p.Ordinals[0].Claims[0].Work, p.Ordinals[1].Claims[0].Work}
			if p.Ordinals[0].Ordinal != 1 || got != tc.want || p.Summary.Stopped != tc.stopped || p.Summary.CopiedBytes != tc.bytes {
				t.Errorf("works %v, %+v", got, p.Summary)
			}
			for _, o := range p.Ordinals {
				if o.Claims[1].Work != Nothing || (o.Outage != nil) != o.Claims[0].Work.stops() {
					t.Errorf("ordinal %d: %+v", o.Ordinal, o)
				}
			}
		})
	}
}

// findings returns those of all checks.
func findings(s State) (all []plan.Finding) {
	for _, check := range Checks {
		all = append(all, plan.OfCheck(check.Name, check.Find(s)...)...)
	}
	return all
}

// TestFindings: each obstacle has its reason and its check, and only obstacles to a begin refuse it.
func TestFindings(t *testing.T) {
	immediate := func(s *State) { s.Classes.Storage[1].VolumeBindingMode = nil }
	inZone := func(zone string) func(*State) {
		return func(s *State) {
			s.Classes.Storage[1].AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{zone}}}}}
		}
	}
	podsIn := func(zone string) func(*State) {
		return func(s *State) {
			s.Set.Spec.Template.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone}
		}
	}
	smaller := api.VolumeSpec{Method: api.MethodCopy, Size: size("512Mi"), Copy: api.CopySpec{Image: "m"}}
	for name, tc := range map[string]struct {
		state State
		// want are the reasons, each once, with ! for a refusal.
		want string
	}{
		"none":   {state(copied), ""},
		"growth": {state(api.VolumeSpec{Method: api.MethodRebind, Size: size("2Gi")}), ""},
		"a data source": {state(copied, func(s *State) {
			s.Set.Spec.VolumeClaimTemplates[0].Spec.DataSource = &corev1.TypedLocalObjectReference{Name: "x"}
		}), "!StorageUnfit"},
		"a data source, kept": {state(copied, func(s *State) {
			s.Set.Spec.VolumeClaimTemplates[1].Spec.DataSource = &corev1.TypedLocalObjectReference{Name: "x"}
		}), ""},
		"a volume by name": {state(copied, func(s *State) {
			s.Set.Spec.VolumeClaimTemplates[0].Spec.VolumeName = "pv-0"
		}), "!StorageUnfit"},
		"classes were not read":    {state(copied, func(s *State) { s.Classes.Storage = nil }), ""},
		"no such attributes":       {state(api.VolumeSpec{VolumeAttributesClassName: new("gold")}, func(s *State) { s.Classes.Attributes = []storagev1.VolumeAttributesClass{} }), "!StorageClassMissing"},
		"a snapshot, smaller":      {state(api.VolumeSpec{Method: api.MethodSnapshot, Size: size("512Mi")}), "!StorageUnfit"},
		"smaller, not measured":    {state(smaller), "CopySizeTooSmall"},
		"smaller, fits":            {state(smaller, func(s *State) { s.Claims[0].Used, s.Claims[2].Used = gib/4, gib/4 }), ""},
		"smaller, does not fit":    {state(smaller, func(s *State) { s.Claims[0].Used, s.Claims[2].Used = gib/2, gib/4 }), "!CopySizeTooSmall"},
		"smaller, without margin":  {state(smaller, func(s *State) { s.Claims[0].Used, s.Claims[2].Used, s.MarginPercent = gib/2, gib/4, 0 }), ""},
		"a smaller block device":   {state(smaller, func(s *State) { blocks(s) }), "!StorageUnfit CopySizeTooSmall"},
		"binds at once, all zones": {state(copied, immediate), ""},
		"binds at once, one zone":  {state(copied, immediate, podsIn("1")), "VolumeOutOfReach"},
		"binds late, one zone":     {state(copied, podsIn("1")), ""},
		"the right zone":           {state(copied, immediate, podsIn("1"), inZone("1")), ""},
		"another zone":             {state(copied, podsIn("1"), inZone("2")), "!VolumeOutOfReach"},
		"apart from a kept volume": {state(copied, inZone("2"), func(s *State) { affine(s, "1") }), "!VolumeOutOfReach"},
		"nodes were not read":      {state(copied, podsIn("1"), inZone("2"), func(s *State) { s.Nodes = nil }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range findings(tc.state) {
				word := map[bool]string{false: "!"}[f.Warning] + f.Reason
				if f.Check == "" || f.Object == "" || f.Message == "" || f.Remedy == "" {
					t.Errorf("incomplete: %+v", f)
				}
				if len(got) == 0 || got[len(got)-1] != word {
					got = append(got, word)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// blocks makes the claims of template data block devices.
func blocks(s *State) {
	s.Set.Spec.VolumeClaimTemplates[0].Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	for _, i := range []int{0, 2} {
		s.Claims[i].Found.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	}
}

// affine binds the kept volumes to a zone.
func affine(s *State, zone string) {
	for _, i := range []int{1, 3} {
		s.Claims[i].Volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}}
	}
}

// TestOfManifest: the entries are those fields in which the templates of a manifest differ. Applied to the present ones they
// give the manifest's.
func TestOfManifest(t *testing.T) {
	present := []corev1.PersistentVolumeClaim{template("data", "slow", "1Gi"), template("logs", "slow", "1024Mi")}
	for name, tc := range map[string]struct {
		manifest []corev1.PersistentVolumeClaim
		asked    []api.VolumeSpec
		want     []api.VolumeSpec
		err      string
	}{
		"equal by meaning": {manifest: []corev1.PersistentVolumeClaim{template("logs", "slow", "1Gi"), template("data", "slow", "1Gi")}},
		"one changes": {
			manifest: []corev1.PersistentVolumeClaim{template("data", "fast", "512Mi"), template("logs", "slow", "1Gi")},
			want:     []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("fast"), Size: size("512Mi")}},
		},
		"a flag has precedence": {
			manifest: []corev1.PersistentVolumeClaim{template("data", "fast", "512Mi"), template("logs", "slow", "1Gi")},
			asked:    []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("faster"), Copy: api.CopySpec{Image: "m"}}},
			want:     []api.VolumeSpec{{ClaimTemplate: "data", StorageClassName: new("faster"), Size: size("512Mi"), Copy: api.CopySpec{Image: "m"}}},
		},
		"one is missing": {manifest: present[:1], err: "claim template logs of the running StatefulSet is missing"},
		"one is new":     {manifest: append([]corev1.PersistentVolumeClaim{template("more", "slow", "1Gi")}, present...), err: "claim template more does not exist"},
		"blocks": {manifest: func() []corev1.PersistentVolumeClaim {
			b := template("data", "slow", "1Gi")
			b.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
			return []corev1.PersistentVolumeClaim{b, present[1]}
		}(), err: "another volumeMode"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := OfManifest(present, tc.manifest, tc.asked)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("volumes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestManifestIsReached: the templates of any manifest are wanted after its entries were applied, and a second comparison
// finds nothing.
func TestManifestIsReached(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(label string) corev1.PersistentVolumeClaim {
			c := template("data", rapid.SampledFrom([]string{"slow", "fast"}).Draw(r, label+" class"), rapid.SampledFrom([]string{"512Mi", "1Gi", "1024Mi", "2Gi"}).Draw(r, label+" size"))
			if name := rapid.SampledFrom([]string{"", "gold", "silver"}).Draw(r, label+" attributes"); name != "" {
				c.Spec.VolumeAttributesClassName = &name
			}
			c.Spec.AccessModes = rapid.SampledFrom([][]corev1.PersistentVolumeAccessMode{{corev1.ReadWriteOnce}, {corev1.ReadWriteMany, corev1.ReadWriteOnce}}).Draw(r, label+" modes")
			return c
		}
		present, manifest := []corev1.PersistentVolumeClaim{draw("present")}, []corev1.PersistentVolumeClaim{draw("manifest")}
		asked, err := OfManifest(present, manifest, nil)
		if err != nil {
			r.Fatal(err)
		}
		wanted := Wanted(present, asked)
		if changes := changesOf(&wanted[0], &manifest[0]); len(changes) > 0 {
			r.Fatalf("%v is left after %+v", changes, asked)
		}
		again, err := OfManifest(wanted, manifest, nil)
		if err != nil || len(again) > 0 {
			r.Fatalf("again: %+v, %v", again, err)
		}
	})
}

// TestChoose: a method that a user names stays. Otherwise the claims decide, or the fields if no claim was read.
func TestChoose(t *testing.T) {
	none := func(s *State) { s.Claims = nil }
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	for name, tc := range map[string]struct {
		state State
		want  api.VolumeMethod
	}{
		"another class":              {state(api.VolumeSpec{StorageClassName: new("fast")}), api.MethodCopy},
		"the same class":             {state(api.VolumeSpec{StorageClassName: new("slow")}), api.MethodRebind},
		"the same modes":             {state(api.VolumeSpec{AccessModes: modes}), api.MethodRebind},
		"larger":                     {state(api.VolumeSpec{Size: size("2Gi")}), api.MethodRebind},
		"larger, the class does not": {state(api.VolumeSpec{Size: size("2Gi")}, func(s *State) { s.Classes.Storage[0].AllowVolumeExpansion = nil }), api.MethodCopy},
		"smaller":                    {state(api.VolumeSpec{Size: size("512Mi")}), api.MethodCopy},
		"a named method":             {state(api.VolumeSpec{Method: api.MethodSnapshot, Size: size("2Gi")}), api.MethodSnapshot},
		"another class, unread":      {state(api.VolumeSpec{StorageClassName: new("fast")}, none), api.MethodCopy},
		"larger or smaller, unread":  {state(api.VolumeSpec{Size: size("512Mi")}, none), api.MethodRebind},
		"a named method, unread":     {state(api.VolumeSpec{Method: api.MethodRebind, StorageClassName: new("fast")}, none), api.MethodRebind},
	} {
		if got := Choose(tc.state)[0]; got.Method != tc.want || got.Method == api.MethodRebind && got.AccessModes != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestNew: the set is recreated exactly if a template changes, and a finding that is no warning refuses.
func TestNew(t *testing.T) {
	p := New(state(copied), 1, []plan.Finding{{Reason: volumes.ReasonCopyCold, Warning: true}})
	want := []Template{{"data", api.MethodCopy, []Change{{drift.StorageClass, "slow", "fast"}}}, {"logs", api.MethodRebind, nil}}
	if diff := cmp.Diff(want, p.Templates); diff != "" || !p.Recreated || p.Refused || !p.Pending() || p.Summary.Budget != 1 {
		t.Errorf("%+v\n%s", p, diff)
	}
	if p = New(state(copied, func(s *State) { s.Updates = true }), 1, nil); p.Recreated || !p.Updated || !p.Pending() {
		t.Errorf("a kind whose templates change: %+v", p)
	}
	p = New(state(api.VolumeSpec{}), 1, []plan.Finding{{Reason: api.ReasonKindUnsupported}})
	if p.Recreated || p.Updated || !p.Refused || p.Pending() {
		t.Errorf("%+v", p)
	}
}
