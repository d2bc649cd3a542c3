package evacuate

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/migration/evacuate"
)

// TestMigrationNames: two sets never have one name, and each name is valid.
func TestMigrationNames(t *testing.T) {
	seen := map[string]bool{}
	for _, set := range []evacuate.Name{
		{Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b-c"}, {Namespace: "shop", Name: strings.Repeat("x", 60)}, {Namespace: "shop", Name: strings.Repeat("x", 61)}, {Namespace: "shop", Name: "web.v2"}, {Namespace: "shop", Name: strings.Repeat("x", 48) + ".v2"},
	} {
		name := migrationName(set)
		if seen[name] || len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("%s has the name %q", set, name)
		}
		seen[name] = true
	}
}

// TestObjects: each set that moves has a paused Migration, which comes after those of the sets that it uses.
func TestObjects(t *testing.T) {
	c := creation{name: "all", namespace: "moves", secret: "west", account: "mover"}
	if err := c.validate(); err != nil {
		t.Fatal(err)
	}
	d := sample()
	specs := map[evacuate.Name]api.MigrationSpec{}
	for _, row := range d.plan.Rows {
		specs[row.Set.Name] = api.MigrationSpec{Source: api.SourceReference{Name: row.Set.Name.Name}, Wave: 3}
	}
	migrations, e := c.objects(d.plan, specs, 5)
	var got strings.Builder
	for i, m := range migrations {
		fmt.Fprintf(&got, "%s %s/%s %s %s wave %d, after %d\n", m.Namespace, m.Spec.Source.Namespace, m.Spec.Source.Name, m.Spec.Mode, m.Spec.ServiceAccountName, m.Spec.Wave, len(e.Spec.Migrations[i].After))
		if m.Labels[api.EvacuationLabelKey] != "all" || m.Annotations[api.EvacuationHeldAnnotationKey] != "all" || m.Name != e.Spec.Migrations[i].Name || m.Spec.Destination.KubeConfigSecretRef.Name != "west" {
			t.Errorf("%+v", m)
		}
	}
	if want := "moves shop/db Pause mover wave 0, after 0\nmoves shop/web Pause mover wave 0, after 1\n"; got.String() != want {
		t.Errorf("got %s, want %s", &got, want)
	}
	if want := (&api.PlannedMove{BeginSeconds: 60, EndSeconds: 180, Ordinals: 2}); !reflect.DeepEqual(e.Spec.Migrations[1].Planned, want) {
		t.Errorf("web is planned as %+v", e.Spec.Migrations[1].Planned)
	}
	if e.Spec.Mode != api.EvacuationPause { // there is too little cpu
		t.Errorf("mode %s", e.Spec.Mode)
	}
	if e.Name != "all" || *e.Spec.MaxActive != 5 || e.Spec.Migrations[1].After[0] != migrations[0].Name {
		t.Errorf("%+v", e)
	}
}

// TestCreateUsage: wrong flags are refused before a cluster is read.
func TestCreateUsage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no namespace":        {[]string{"--create", "all", "--destination-secret", "west"}, "--create needs --create-in"},
		"no Secret":           {[]string{"--create", "all", "--create-in", "moves"}, "--create needs --destination-secret"},
		"no name":             {[]string{"--create-in", "moves"}, "are for --create"},
		"a name with capital": {[]string{"--create", "All", "--create-in", "moves", "--destination-secret", "west"}, `no Evacuation can be called "All"`},
		"no key":              {[]string{"--create", "all", "--create-in", "moves", "--destination-secret", "west/"}, "must be NAME or NAME/KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			console(append([]string{"-n", "shop", "--to-context", "west"}, tc.args...)...).Expect(t, command.ExitUsage, "", tc.want)
		})
	}
}

// TestCreateWithoutManager: the objects are written, and the command states that no manager acts upon them, and how to install
// one.
func TestCreateWithoutManager(t *testing.T) {
	s, connection := serve(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "moves", Name: "west"}, Data: map[string][]byte{"value": []byte("x")}})
	c := console()
	o := &options{Common: command.NewCommon(c.Environment), creation: creation{name: "all", namespace: "moves", secret: "west"}}
	if err := o.creation.validate(); err != nil {
		t.Fatal(err)
	}
	r := &reader{options: o, source: connection.ReachedBy("--context east"), destination: connection, specs: map[evacuate.Name]api.MigrationSpec{}}
	p := evacuate.Of(evacuate.Inventory{Sets: []evacuate.Set{set("web", 2, api.MethodRebind)}})
	if err := r.create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := "warning: no manager was found in cluster west, so nothing happens with this Evacuation until one runs: migrate install --context east --image IMAGE\n"
	if text := c.Stderr.String(); len(s.Wrote()) != 2 || !strings.HasSuffix(text, want) {
		t.Errorf("wrote %q: %s", s.Wrote(), text)
	}
}

// TestDestinationTooSmall: each resource that the destination lacks is named, and the Evacuation begins nothing. With
// room, it begins at once.
func TestDestinationTooSmall(t *testing.T) {
	c := creation{name: "all", namespace: "moves"}
	web := set("web", 2, api.MethodCopy)
	web.Pod.Volumes = map[string]int64{"disks": 1}
	for name, tc := range map[string]struct {
		at   evacuate.Destination
		want []string
	}{
		"nothing is known": {evacuate.Destination{}, nil},
		"room for all":     {evacuate.Destination{Nodes: []evacuate.Node{{Name: "a", Free: evacuate.Amounts{MilliCPU: 1000, Memory: 1 << 33, Pods: 10}}}}, nil},
		"too little memory": {
			evacuate.Destination{Nodes: []evacuate.Node{{Name: "a", Free: evacuate.Amounts{MilliCPU: 1000, Memory: 1 << 28, Pods: 10}}}},
			[]string{"memory (512Mi needed, 256Mi free)", "no node has room for 1 pod, the first of which is shop/web-0"},
		},
		"too little storage": {evacuate.Destination{Classes: []evacuate.Class{{Name: "fast", Free: 1 << 30}}}, []string{"storage of class fast (2Gi needed, 1Gi free)"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := evacuate.Of(evacuate.Inventory{Sets: []evacuate.Set{web}, Destination: tc.at})
			_, e := c.objects(p, nil, 0)
			if got := shortages(p); !slices.Equal(got, tc.want) || (e.Spec.Mode == api.EvacuationPause) != (len(tc.want) > 0) {
				t.Errorf("mode %s, lacks %q, want %q", e.Spec.Mode, got, tc.want)
			}
		})
	}
}

// TestHundredsOfEntries: a list that does not fit into one object is refused before anything is written.
func TestHundredsOfEntries(t *testing.T) {
	of := func(entries, after int) (spec api.EvacuationSpec) {
		for i := range entries {
			entry := api.EvacuatedMigration{Name: fmt.Sprintf("%063d", i), Planned: &api.PlannedMove{EndSeconds: 100000, Ordinals: 100}}
			for k := range after {
				entry.After = append(entry.After, fmt.Sprintf("%062d", k)+strconv.Itoa(i%10))
			}
			spec.Migrations = append(spec.Migrations, entry)
		}
		return spec
	}
	for name, tc := range map[string]struct {
		spec api.EvacuationSpec
		want string
	}{
		"as many as may": {of(1000, 4), ""},
		"one too many":   {of(1001, 0), "1001 StatefulSets can move, and an Evacuation has at most 1000: nothing was written"},
		"too large":      {of(1000, 8), "the order of 1000 StatefulSets takes 6"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fits(tc.spec)
			if got := fmt.Sprint(err); (err == nil) != (tc.want == "") || !strings.Contains(got, tc.want) && tc.want != "" {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
