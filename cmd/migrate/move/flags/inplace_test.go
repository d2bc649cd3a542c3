package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// TestInPlaceFlags: the storage of a template and the settings of its method are in one flag. Without a method it is left
// open. There is no destination.
func TestInPlaceFlags(t *testing.T) {
	size := new(resource.MustParse("50Gi"))
	for text, want := range map[string]api.VolumeSpec{
		"data=class=fast":                        {ClaimTemplate: "data", StorageClassName: new("fast")},
		"data=size=50Gi":                         {ClaimTemplate: "data", Size: size},
		"data=attributes=gold,size=50Gi":         {ClaimTemplate: "data", Size: size, VolumeAttributesClassName: new("gold")},
		"data=class=fast,image=m,verify=later":   {ClaimTemplate: "data", StorageClassName: new("fast"), Copy: api.CopySpec{Image: "m", Verify: api.CopyVerifyLater}},
		"data=method=copy,image=m:1,size=50Gi":   {ClaimTemplate: "data", Method: api.MethodCopy, Size: size, Copy: api.CopySpec{Image: "m:1"}},
		"data=copy,class=fast,image=m":           {ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new("fast"), Copy: api.CopySpec{Image: "m"}},
		"data=snapshot,class=fast":               {ClaimTemplate: "data", Method: api.MethodSnapshot, StorageClassName: new("fast")},
		"data=method=snapshot,snapshot-class=sc": {ClaimTemplate: "data", Method: api.MethodSnapshot, Snapshot: api.SnapshotSpec{ClassName: "sc"}},
		"data=rebind,size=50Gi":                  {ClaimTemplate: "data", Method: api.MethodRebind, Size: size},
	} {
		got, err := parseSpec("--in-place", "--volume", text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]api.VolumeSpec{want}, got.Volumes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		if got.Storage == nil || got.Destination.Name != "" || got.Destination.Namespace != "" {
			t.Errorf("%s: storage %v, destination %+v", text, got.Storage, got.Destination)
		}
	}
	for text, want := range map[string]string{
		"data":                         "must be TEMPLATE=class=CLASS",
		"=class=fast":                  "must be TEMPLATE=class=CLASS",
		"data=size=0":                  "size must be a quantity above 0, such as 50Gi",
		"data=size=-1Gi":               "size must be a quantity above 0",
		"data=size=big":                "size must be a quantity above 0",
		"data=class=":                  `no class can be called ""`,
		"data=class=Fast Disk":         "no class can be called",
		"data=attributes=a/b":          "attributes: no class can be called",
		"data=method=empty":            "method must be one of rebind, copy, snapshot",
		"data=method=rebind,image=m":   "method rebind has no settings",
		"data=method=snapshot,image=m": "method snapshot has no setting",
		"data=class=fast,colour=red":   `method copy has no setting "colour=red"`,
		"data=class=fast,verify=some":  "the form verify=full|changed|later",
		"data=class=fast,image":        "the form image=IMAGE",
		"data=class=fast,,size=1Gi":    `method copy has no setting ""`,
	} {
		if _, err := parseSpec("--in-place", "--volume", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestInPlaceCombinations: flags of a move are rejected, and so are flags of a change without one.
func TestInPlaceCombinations(t *testing.T) {
	for args, want := range map[string]string{
		"--in-place --count 2":              "--count is for a move",
		"--in-place --create-namespace":     "--create-namespace is for a move",
		"--margin 5":                        "--margin is for --in-place",
		"--in-place --margin 91":            "must be a percentage from 0 to 90",
		"--in-place --margin -1":            "must be a percentage from 0 to 90",
		"--volume data=class=fast":          "with --in-place it is TEMPLATE=class=CLASS",
		"--from-manifest /does/not/exist.y": "--from-manifest: open",
	} {
		if _, err := parseSpec(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	got, err := parseSpec("--in-place", "--margin", "25%")
	if err != nil || *got.Storage.MarginPercent != 25 {
		t.Errorf("%+v, %v", got.Storage, err)
	}
}

// TestRecipeInPlace: a recipe gives a change in place its gates, and no names for pods elsewhere.
func TestRecipeInPlace(t *testing.T) {
	got, err := parseSpec("--in-place", "--recipe", "etcd")
	if err != nil || got.Services.PerOrdinal != "" || len(got.Gates) == 0 {
		t.Errorf("%+v, %d gates, %v", got.Services, len(got.Gates), err)
	}
}

// TestFromManifest: the claim templates of the StatefulSet of this name and namespace are found in a file with several documents
// and lists.
func TestFromManifest(t *testing.T) {
	const set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: NAME}\nspec:\n  volumeClaimTemplates:\n  - metadata: {name: data}\n    spec: {storageClassName: fast}\n"
	const other = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"
	named := func(name string) string { return strings.ReplaceAll(set, "NAME", name) }
	list := func(kind string, sets ...string) string {
		var text strings.Builder
		fmt.Fprintf(&text, "apiVersion: v1\nkind: %s\nitems:\n", kind)
		for _, each := range sets {
			fmt.Fprintf(&text, "- %s\n", strings.ReplaceAll(strings.TrimSuffix(each, "\n"), "\n", "\n  "))
		}
		return text.String()
	}
	for name, tc := range map[string]struct{ text, want string }{
		"found":                   {other + "---\n" + named("db") + "---\n" + named("web"), ""},
		"beside others":           {"apiVersion: db.example.com/v1\nkind: Database\nmetadata: {name: web}\nspec: {replicas: three, template: small, volumeClaimTemplates: none}\nitems: 3\n---\n# nothing\n---\n- a list\n---\n" + named("web"), ""},
		"its namespace":           {named("web, namespace: shop"), ""},
		"that of two namespaces":  {strings.ReplaceAll(named("web, namespace: prod"), "fast", "slow") + "---\n" + named("web, namespace: shop"), ""},
		"in a list":               {list("List", other, named("db"), named("web, namespace: shop")), ""},
		"in a typed list":         {list("StatefulSetList", named("web")), ""},
		"in a list of a list":     {list("List", list("List", named("web"))), ""},
		"items of another kind":   {list("Database", named("web")), "has no StatefulSet"},
		"another name":            {named("db"), "has no StatefulSet web, only db"},
		"another name, in a list": {list("List", named("db")), "has no StatefulSet web, only db"},
		"another namespace":       {named("web, namespace: prod"), "has StatefulSet web in namespace prod, and not in shop"},
		"twice":                   {named("web") + "---\n" + named("web, namespace: shop"), "has StatefulSet web 2 times for namespace shop"},
		"none":                    {other, "has no StatefulSet"},
		"no templates":            {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\n", "StatefulSet web has no claim templates"},
		"no YAML":                 {"a: [", "--from-manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "web.yaml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var f Spec
			given := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.Add(given)
			if err := given.Parse([]string{"--from-manifest", path}); err != nil {
				t.Fatal(err)
			}
			spec, err := f.Spec("web", Destination{})
			var templates []corev1.PersistentVolumeClaim
			if err == nil {
				templates, err = f.Templates("shop")
			}
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%v, want %q", err, tc.want)
				}
				return
			}
			if err != nil || spec.Storage == nil || len(templates) != 1 || *templates[0].Spec.StorageClassName != "fast" {
				t.Errorf("%+v, %+v, %v", spec.Storage, templates, err)
			}
		})
	}
}

// TestInPlaceDifferences: the wanted storage of a change that is under way cannot be another one.
func TestInPlaceDifferences(t *testing.T) {
	var f Spec
	given := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.Add(given)
	if err := given.Parse([]string{"--in-place", "--volume", "data=method=copy,class=fast,size=1Gi"}); err != nil {
		t.Fatal(err)
	}
	asked, err := f.Spec("web", Destination{})
	if err != nil {
		t.Fatal(err)
	}
	recorded := *asked.DeepCopy()
	if diff := f.Differences(recorded, asked); diff != nil {
		t.Errorf("equal: %v", diff)
	}
	recorded.Volumes[0].Size = new(resource.MustParse("2Gi"))
	want := []string{"storage: recorded data=class=fast,size=2Gi, asked for data=class=fast,size=1Gi"}
	if diff := cmp.Diff(want, f.Differences(recorded, asked)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}
