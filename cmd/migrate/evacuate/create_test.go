package evacuate

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/migration/evacuate"
)

// TestMigrationNames: two sets never have one name, and each name is valid.
func TestMigrationNames(t *testing.T) {
	seen := map[string]bool{}
	for _, set := range []evacuate.Name{
		{Namespace: "a-b", Name: "c"}, {Namespace: "a", Name: "b-c"}, {Namespace: "shop", Name: strings.Repeat("x", 60)}, {Namespace: "shop", Name: strings.Repeat("x", 61)}, {Namespace: "shop", Name: "web.v2"},
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
