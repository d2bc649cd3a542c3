package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

func diff(value string) drift.Difference {
	return drift.Difference{Field: drift.StorageClass, Claim: value, Template: "z", Needs: drift.Copy}
}

// template returns a claim template.
func template(name, class, size string) corev1.PersistentVolumeClaim {
	t := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Spec.StorageClassName, t.Spec.AccessModes = &class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	t.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	return t
}

// bound returns a bound claim of a template of a set.
func bound(namespace, set string, ordinal int, t corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	c := t.DeepCopy()
	c.Namespace, c.Name = namespace, fmt.Sprintf("%s-%s-%d", t.Name, set, ordinal)
	c.Spec.VolumeName = "pv-" + namespace + "-" + c.Name
	c.Status.Phase, c.Status.Capacity = corev1.ClaimBound, c.Spec.Resources.Requests
	return c
}

// volumeOf returns the volume of a claim.
func volumeOf(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: c.Spec.VolumeName}}
	v.Spec.StorageClassName = *c.Spec.StorageClassName
	return v
}

// native and ours return a StatefulSet of each kind.
func native(namespace, name string, templates ...corev1.PersistentVolumeClaim) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
	set.Spec.VolumeClaimTemplates = templates
	return set
}

func ours(namespace, name string, templates ...corev1.PersistentVolumeClaim) *slicesapi.StatefulSet {
	set := &slicesapi.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	set.Spec.VolumeClaimTemplates = templates
	set.Spec.VolumeClaimUpdateStrategy = &slicesapi.VolumeClaimUpdateStrategy{Type: slicesapi.OnPodRollingUpdate}
	return set
}

// cluster serves: web, whose claims 0 to 2 are of another class, and of which claim 1 is smaller, too; queue of our kind,
// whose claim grows; db of an operator; and same, whose claim is as its template.
func cluster(t *testing.T) *apitest.Server {
	t.Helper()
	fast, slow := template("data", "fast", "2Gi"), template("data", "slow", "2Gi")
	small := template("data", "slow", "1Gi")
	small.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
	allows := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}, Provisioner: "disks", AllowVolumeExpansion: new(true)}
	db := native("store", "db", slow)
	db.OwnerReferences = []metav1.OwnerReference{{APIVersion: "db.example.com/v1", Kind: "Database", Name: "main", UID: "u", Controller: new(true)}}
	claims := []*corev1.PersistentVolumeClaim{
		bound("shop", "web", 0, slow), bound("shop", "web", 1, small), bound("shop", "web", 2, slow),
		bound("shop", "queue", 0, small), bound("store", "db", 0, small), bound("shop", "same", 0, fast),
		bound("shop", "web-extra", 0, small), // belongs to no set
	}
	objects := []client.Object{native("shop", "web", fast), ours("shop", "queue", slow), db, native("shop", "same", fast), allows}
	for _, c := range claims {
		objects = append(objects, c, volumeOf(c))
	}
	return apitest.Serve(t, map[schema.GroupVersion]map[string]string{
		{Version: "v1"}:              {"persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume"},
		appsv1.SchemeGroupVersion:    {"statefulsets": "StatefulSet"},
		slicesapi.GroupVersion:       {"statefulsets": "StatefulSet"},
		storagev1.SchemeGroupVersion: {"storageclasses": "StorageClass", "volumeattributesclasses": "VolumeAttributesClass"},
	}, objects...)
}

func console(t *testing.T, s *apitest.Server, args ...string) *commandtest.Console {
	t.Helper()
	commands := func(c *command.Common) []*cobra.Command {
		return command.In(command.Storage, New(c, &change{Common: c}))
	}
	return commandtest.New(commands, append([]string{"storage", "--kubeconfig", s.Kubeconfig(t)}, args...)...)
}

// change is asked for by the flag --change.
type change struct {
	*command.Common
	asked bool
}

func (c *change) Add(cmd *cobra.Command, _ *command.Choice) {
	cmd.Flags().BoolVar(&c.asked, "change", false, "")
}
func (c *change) Asked() bool                             { return c.asked }
func (c *change) Complete(*cobra.Command, []string) error { return nil }
func (c *change) Run(context.Context) error {
	_, err := fmt.Fprintln(c.Out, "planned")
	return err
}

// TestChange: a change is planned instead of the list, of one StatefulSet.
func TestChange(t *testing.T) {
	s := cluster(t)
	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"planned":      {[]string{"web", "--change"}, command.ExitDone, "planned\n", ""},
		"of all":       {[]string{"-A", "--change"}, command.ExitUsage, "", "a change is of one StatefulSet"},
		"of a label":   {[]string{"-l", "a=b", "--change"}, command.ExitUsage, "", "a change is of one StatefulSet"},
		"with a check": {[]string{"web", "--check", "--change"}, command.ExitUsage, "", "--check lists differences"},
	} {
		t.Run(name, func(t *testing.T) { console(t, s, tc.args...).Expect(t, tc.code, tc.stdout, tc.stderr) })
	}
}

// TestTable: claims of one template with the same difference share a line, and the owner of a StatefulSet is shown. Nothing
// is written.
func TestTable(t *testing.T) {
	s := cluster(t)
	c := console(t, s, "-A")
	c.Expect(t, command.ExitDone, `NAMESPACE   STATEFULSET   OWNER           TEMPLATE   ORDINALS   FIELD              CLAIM HAS   TEMPLATE HAS   NEEDS
shop        slice/queue   <none>          data       0          storage            1Gi         2Gi            expand
shop        sts/web       <none>          data       0-2        storageClassName   slow        fast           copy
shop        sts/web       <none>          data       1          storage            1Gi         2Gi            expand
store       sts/db        Database/main   data       0          storage            1Gi         2Gi            expand
`, "")
	if wrote := s.Wrote(); len(wrote) > 0 {
		t.Errorf("it wrote %v", wrote)
	}
	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"of a namespace":       {[]string{"-n", "store"}, command.ExitDone, "sts/db", ""},
		"of a label":           {[]string{"-n", "shop", "-l", "app=web"}, command.ExitDone, "STATEFULSET   OWNER    TEMPLATE   ORDINALS   FIELD              CLAIM HAS   TEMPLATE HAS   NEEDS\nsts/web ", ""},
		"one":                  {[]string{"web", "-n", "shop"}, command.ExitDone, "0-2", ""},
		"one of our kind":      {[]string{"sts/queue", "-n", "shop"}, command.ExitDone, "slice/queue", ""},
		"with the reasons":     {[]string{"queue", "-n", "shop", "-o", "wide"}, command.ExitDone, "the controller of the StatefulSet grows the claim", ""},
		"none differs":         {[]string{"same", "-n", "shop"}, command.ExitDone, "", ""},
		"none is there":        {[]string{"-n", "empty"}, command.ExitDone, "", "No StatefulSet found in namespace empty of cluster east."},
		"one that is missing":  {[]string{"wbe", "-n", "shop"}, command.ExitFailure, "", "no StatefulSet shop/wbe in cluster east; did you mean web?"},
		"checked":              {[]string{"-n", "shop", "--check"}, 1, "sts/web", ""},
		"checked, equal":       {[]string{"same", "-n", "shop", "--check"}, command.ExitDone, "", ""},
		"checked, missing":     {[]string{"wbe", "-n", "shop", "--check"}, command.ExitUsage, "", "no StatefulSet"},
		"a name and all":       {[]string{"web", "-A"}, command.ExitUsage, "", "--all-namespaces is for the list"},
		"a name and labels":    {[]string{"web", "-l", "a=b"}, command.ExitUsage, "", "--selector is for the list"},
		"a namespace and all":  {[]string{"-n", "shop", "-A"}, command.ExitUsage, "", "exclude each other"},
		"no selector":          {[]string{"-l", "a b"}, command.ExitUsage, "", "--selector: "},
		"two names":            {[]string{"web", "db"}, command.ExitUsage, "", "takes one StatefulSet, 2 were given"},
		"another kind's names": {[]string{"deploy/web"}, command.ExitUsage, "", "is not a StatefulSet"},
	} {
		t.Run(name, func(t *testing.T) { console(t, s, tc.args...).Expect(t, tc.code, tc.stdout, tc.stderr) })
	}
}

// TestOnATerminal: on a terminal it also states that nothing was found.
func TestOnATerminal(t *testing.T) {
	c := console(t, cluster(t), "same", "-n", "shop")
	c.Width = func() int { return 80 }
	c.Expect(t, command.ExitDone, "", "1 claim of 1 StatefulSet in cluster east compared: none differs from its template.")
}

// TestForPrograms: JSON and YAML have each claim, and a command where one is enough and no other controller writes the
// claims.
func TestForPrograms(t *testing.T) {
	s := cluster(t)
	for _, format := range []string{"json", "yaml"} {
		c := console(t, s, "-A", "-o", format)
		if code := c.Run(t); code != command.ExitDone {
			t.Fatalf("exit code %d: %s", code, c.Stderr)
		}
		var got report
		decode := json.Unmarshal
		if format == "yaml" {
			decode = func(data []byte, into any) error { return yaml.Unmarshal(data, into) }
		}
		if err := decode(c.Stdout.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Checked != (checked{StatefulSets: 4, Claims: 6}) || len(got.Items) != 3 {
			t.Fatalf("%s", c.Stdout)
		}
		web, db := got.Items[1], got.Items[2]
		if web.Name != "web" || len(web.Claims) != 3 || web.Claims[1].Needs != drift.Copy {
			t.Errorf("web: %+v", web)
		}
		const grow = `kubectl --kubeconfig `
		if text := web.Claims[1].Differs[1].Command; !strings.HasPrefix(text, grow) || !strings.HasSuffix(text, `patch pvc -n shop data-web-1 -p '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}'`) {
			t.Errorf("command %q", text)
		}
		if text := web.Claims[1].Differs[0].Command; text != "" {
			t.Errorf("a copy needs %q", text)
		}
		if db.Owner == nil || *db.Owner != (owner{"db.example.com/v1", "Database", "main"}) || db.Claims[0].Differs[0].Command != "" {
			t.Errorf("db: %+v", db)
		}
		if queue := got.Items[0]; queue.Claims[0].Differs[0].Command != "" {
			t.Errorf("queue: %+v", queue)
		}
	}
}

// TestWithoutRights: without the right to read volumes and classes, claims are still compared, and what depends on a class
// is undecided. Any other failed read is an error.
func TestWithoutRights(t *testing.T) {
	refused := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`User "x" cannot`))
	for name, tc := range map[string]struct {
		resource       string
		err            error
		code           int
		stdout, stderr string
	}{
		"volumes":                 {"persistentvolumes", refused, command.ExitDone, "storageClassName   slow        fast           copy", ""},
		"classes":                 {"storageclasses", refused, command.ExitDone, "storage            1Gi         2Gi            undecided", ""},
		"claims":                  {"persistentvolumeclaims", refused, command.ExitFailure, "", "a right is missing"},
		"StatefulSets":            {"statefulsets", refused, command.ExitFailure, "", "a right is missing"},
		"volumes, without answer": {"persistentvolumes", apierrors.NewInternalError(errors.New("down")), command.ExitFailure, "", "cannot be read"},
		"classes, without answer": {"storageclasses", apierrors.NewInternalError(errors.New("down")), command.ExitFailure, "", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster(t)
			s.Before = func(r *http.Request) error {
				if r.PathValue("resource") == tc.resource {
					return tc.err
				}
				return nil
			}
			console(t, s, "web", "-n", "shop").Expect(t, tc.code, tc.stdout, tc.stderr)
		})
	}
}

// TestKindIsNotServed: a cluster without our kind is read, too.
func TestKindIsNotServed(t *testing.T) {
	s := apitest.Serve(t, map[schema.GroupVersion]map[string]string{
		{Version: "v1"}:              {"persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume"},
		appsv1.SchemeGroupVersion:    {"statefulsets": "StatefulSet"},
		storagev1.SchemeGroupVersion: {"storageclasses": "StorageClass"},
	}, native("shop", "web", template("data", "fast", "2Gi")), bound("shop", "web", 0, template("data", "slow", "2Gi")))
	console(t, s, "-n", "shop").Expect(t, command.ExitDone, "sts/web", "")
}
