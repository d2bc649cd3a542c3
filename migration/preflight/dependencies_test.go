package preflight

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// needySet returns a StatefulSet whose pods need ConfigMap settings and PriorityClass high.
func needySet() *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	optional := true
	from := func(name string, optional *bool) corev1.EnvFromSource {
		return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: optional}}
	}
	set.Spec.Template.Spec = corev1.PodSpec{PriorityClassName: "high", Containers: []corev1.Container{{Name: "web", EnvFrom: []corev1.EnvFromSource{from("settings", nil), from("maybe", &optional)}}}}
	return set
}

// settings returns the ConfigMap at the source.
func settings() client.Object {
	return endpointtest.Object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {a: b}}`)
}

// found returns the reasons, and which of them are warnings.
func found(findings []plan.Finding) []string {
	var all []string
	for _, f := range findings {
		line := f.Reason + " " + f.Object
		if f.Warning {
			line += " (warning)"
		}
		all = append(all, line)
	}
	return all
}

// TestDependencies: objects that the destination lacks are reported unless they are copied; cluster-scoped objects are
// never copied. Objects that may not be read refuse nothing.
func TestDependencies(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", errors.New("no"))
	const missing, class = "DependencyMissing ConfigMap shop/settings in cluster west", "DependencyMissing PriorityClass high in cluster west"
	for name, tc := range map[string]struct {
		mode  api.DependencyMode
		hooks clustertest.Hooks
		there []client.Object
		want  []string
	}{
		"checked":          {api.DependenciesCheck, clustertest.Hooks{}, nil, []string{missing, class}},
		"by default":       {"", clustertest.Hooks{}, nil, []string{missing, class}},
		"checked, there":   {api.DependenciesCheck, clustertest.Hooks{}, []client.Object{settings()}, []string{class}},
		"checked, unread":  {api.DependenciesCheck, clustertest.Failing(forbidden, "get"), nil, []string{missing + " (warning)", class + " (warning)"}},
		"copied":           {api.DependenciesCopy, clustertest.Hooks{}, nil, []string{class}},
		"copied, refused":  {api.DependenciesCopy, clustertest.Failing(apierrors.NewBadRequest("no blue here"), "create"), nil, []string{class, "WriteRefused ConfigMap shop/settings in cluster west"}},
		"copied, is there": {api.DependenciesCopy, clustertest.Failing(apierrors.NewBadRequest("no blue here"), "create"), []client.Object{settings()}, []string{class}},
	} {
		e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, needySet(), settings()), endpointtest.Serving(tc.hooks, nil, tc.there...))}
		m := &api.Migration{}
		m.Spec.Dependencies.Mode = tc.mode
		findings, err := e.dependencies(t.Context(), m, needySet())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, found(findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestDependenciesUnread: without an answer of the cluster an object is neither present nor missing (I6).
func TestDependenciesUnread(t *testing.T) {
	broken := errors.New("no route to host")
	for _, mode := range []api.DependencyMode{api.DependenciesCheck, api.DependenciesCopy} {
		e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, needySet(), settings()), endpointtest.Serving(clustertest.Failing(broken, "get"), nil))}
		m := &api.Migration{}
		m.Spec.Dependencies.Mode = mode
		if _, err := e.dependencies(t.Context(), m, needySet()); !errors.Is(err, broken) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

// TestNothingIsKept: all writes to the destination before a move are dry runs.
func TestNothingIsKept(t *testing.T) {
	there := endpointtest.Serving(clustertest.Before(func(verb string, _ runtime.Object) error {
		if verb != "get" && verb != "list" && verb != "create" {
			t.Errorf("it does %s", verb)
		}
		return nil
	}), nil)
	e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, needySet(), settings()), there)}
	m := &api.Migration{}
	m.Spec.Dependencies.Mode = api.DependenciesCopy
	if _, err := e.dependencies(t.Context(), m, needySet()); err != nil {
		t.Fatal(err)
	}
	var kept corev1.ConfigMapList
	if err := there.List(t.Context(), &kept); err != nil || len(kept.Items) > 0 {
		t.Errorf("it keeps %v: %v", kept.Items, err)
	}
}

// TestAccountIsCopiedFirst: a pod is dry-run with its own account if that exists, and else with the namespace's
// default account until its own is copied.
func TestAccountIsCopiedFirst(t *testing.T) {
	account := endpointtest.Object(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: app, namespace: shop}}`)
	for name, tc := range map[string]struct {
		mode  api.DependencyMode
		there []client.Object
		want  string
	}{
		"checked":          {api.DependenciesCheck, nil, "app"},
		"copied":           {api.DependenciesCopy, nil, ""},
		"copied, is there": {api.DependenciesCopy, []client.Object{account}, "app"},
	} {
		e := &Inspector{Pair: endpointtest.Pair(nil, endpointtest.Serving(clustertest.Hooks{}, nil, tc.there...))}
		m, set := &api.Migration{}, needySet()
		m.Spec.Dependencies.Mode, set.Spec.Template.Spec.ServiceAccountName = tc.mode, "app"
		got, err := e.withAccount(t.Context(), m, set)
		if err != nil || got.Spec.Template.Spec.ServiceAccountName != tc.want || set.Spec.Template.Spec.ServiceAccountName != "app" {
			t.Errorf("%s: under %q, %v", name, got.Spec.Template.Spec.ServiceAccountName, err)
		}
	}
	missing := plan.Dependency{Kind: "ServiceAccount", Name: "app", Origin: "1"}
	there := missing
	there.Copy.Found = true
	for want, d := range map[bool]plan.Dependency{true: missing, false: there} {
		if got := accountIsMissing(plan.Dependencies{List: []plan.Dependency{{Kind: "Secret", Origin: "1"}, d}}); got != want {
			t.Errorf("it is missing: %t", got)
		}
	}
}

// TestCopyRefused: a role that grants more than its creator has is reported as such, and a missing right is named.
func TestCopyRefused(t *testing.T) {
	roles := schema.GroupResource{Group: "rbac.authorization.k8s.io", Resource: "roles"}
	forbidden := func(text string) error { return apierrors.NewForbidden(roles, "reader", errors.New(text)) }
	for name, tc := range map[string]struct {
		kind   string
		err    error
		reason string
		says   string
	}{
		"let in":           {"Role", nil, "", ""},
		"no namespace yet": {"Role", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"), "", ""},
		"it is there":      {"Role", apierrors.NewAlreadyExists(roles, "reader"), "", ""},
		"too many rights":  {"Role", forbidden(`user "mover" is attempting to grant RBAC permissions not currently held`), api.ReasonWriteRefused, "cannot grant permissions that it does not have"},
		"a missing right":  {"Role", forbidden(`User "mover" cannot create resource "roles"`), api.ReasonPermissionMissing, "cannot be created"},
		"a quota":          {"Secret", forbidden("exceeded quota"), api.ReasonWriteRefused, "exceeded quota"},
	} {
		finding, err := copyRefused(endpointtest.Destination(nil), plan.Dependency{Kind: tc.kind, Name: "reader"}, tc.err)
		switch {
		case err != nil, (finding == nil) != (tc.reason == ""):
			t.Errorf("%s: %+v, %v", name, finding, err)
		case finding != nil && (finding.Reason != tc.reason || !strings.Contains(finding.Message, tc.says) || finding.Remedy == ""):
			t.Errorf("%s: %+v", name, finding)
		}
	}
	if _, err := copyRefused(endpointtest.Destination(nil), plan.Dependency{}, errors.New("no route to host")); err == nil {
		t.Error("what was not answered is taken for an answer")
	}
}

// TestCopyRights: a move without copies needs no rights to them, and a move without cleanup needs none to delete
// them.
func TestCopyRights(t *testing.T) {
	m := &api.Migration{}
	if rules := copyRights(m, endpointtest.Source(nil)); len(rules) > 0 {
		t.Errorf("asked for %v", rules)
	}
	m.Spec.Dependencies.Mode = api.DependenciesCopy
	verbs := func(at string) map[string]string {
		all := map[string]string{}
		side := endpointtest.Source(nil)
		if at == "destination" {
			side = endpointtest.Destination(nil)
		}
		for _, rule := range copyRights(m, side) {
			all[rule.Resource] = rule.Verbs
		}
		return all
	}
	if diff := cmp.Diff(map[string]string{
		"secrets": "get", "configmaps": "get", "serviceaccounts": "get", "roles": "get", "rolebindings": "get list", "networkpolicies": "get list", "services": "get list",
	}, verbs("source")); diff != "" {
		t.Error(diff)
	}
	if got := verbs("destination"); got["secrets"] != "get create update" || len(got) != 7 {
		t.Errorf("at the destination: %v", got)
	}
	m.Spec.Dependencies.Cleanup = api.CleanupDelete
	if got := verbs("destination")["secrets"]; got != "get create update list delete" {
		t.Errorf("at the destination, to clean up: %s", got)
	}
}

// TestP11NamedByStorage: the Secrets that a driver needs are looked up where the volume references them, and so are
// the other references of a claim template than its class. Within one cluster they exist.
func TestP11NamedByStorage(t *testing.T) {
	secret := endpointtest.Object(`{apiVersion: v1, kind: Secret, metadata: {name: stage, namespace: storage}}`)
	named := func(pv *corev1.PersistentVolume) {
		pv.Spec.CSI.NodeStageSecretRef = &corev1.SecretReference{Name: "stage", Namespace: "storage"}
		pv.Spec.VolumeAttributesClassName = new("gold")
	}
	set := claimedSet(func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates[0].Spec.VolumeAttributesClassName = new("gold")
	})
	const missing, class = "DependencyMissing Secret storage/stage in cluster west", "DependencyMissing VolumeAttributesClass gold in cluster west"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "stage", errors.New("no"))
	for name, tc := range map[string]struct {
		hooks clustertest.Hooks
		there []client.Object
		want  []string
	}{
		"missing":        {want: []string{class + " (warning)", missing}},
		"there":          {there: []client.Object{secret}, want: []string{class + " (warning)"}},
		"unread":         {hooks: clustertest.Failing(forbidden, "get"), want: []string{class + " (warning)", missing + " (warning)"}},
		"of another one": {there: []client.Object{endpointtest.Object(`{apiVersion: v1, kind: Secret, metadata: {name: stage, namespace: shop}}`)}, want: []string{class + " (warning)", missing}},
	} {
		e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, claimsAndVolumes(named)...), endpointtest.Serving(tc.hooks, nil, tc.there...))}
		findings, err := e.dependencies(t.Context(), &api.Migration{}, set)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, found(findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		e.Destination.ID = e.Source.ID
		if findings, err := e.dependencies(t.Context(), &api.Migration{}, set); err != nil || len(findings) > 0 {
			t.Errorf("%s, within a cluster: %+v, %v", name, findings, err)
		}
	}
}

// attributed returns the source's claims and volumes. The claims name a VolumeAttributesClass, as a user may set it on
// them after their creation; their template names none.
func attributed(name string) []client.Object {
	objects := claimsAndVolumes(nil)
	for _, object := range objects {
		if claim, is := object.(*corev1.PersistentVolumeClaim); is {
			claim.Spec.StorageClassName, claim.Spec.VolumeAttributesClassName = new("fast"), &name
		}
	}
	return objects
}

// attributesOf returns a VolumeAttributesClass of a driver.
func attributesOf(driver string) client.Object {
	return endpointtest.Object(`{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: gold}, driverName: ` + driver + `}`)
}

// TestY15AttributesOfNewVolumes: before anything is stopped, the VolumeAttributesClass of the ordinals' own claims is
// looked up for every method that creates new volumes, with the driver of the storage class that provisions them. A
// named storage class leaves it out. A carried volume needs none.
func TestY15AttributesOfNewVolumes(t *testing.T) {
	const class = "DependencyMissing VolumeAttributesClass gold in cluster west"
	fast := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disks.example.com"}
	there := func(driver string) []client.Object { return []client.Object{fast, attributesOf(driver)} }
	for name, tc := range map[string]struct {
		method   api.VolumeMethod
		mapped   *string
		template *string
		there    []client.Object
		want     []string
	}{
		"Empty, missing":              {api.MethodEmpty, nil, nil, []client.Object{fast}, []string{class}},
		"Copy, missing":               {api.MethodCopy, nil, nil, []client.Object{fast}, []string{class}},
		"Snapshot, missing":           {api.MethodSnapshot, nil, nil, []client.Object{fast}, []string{class}},
		"Rebind, missing":             {api.MethodRebind, nil, nil, []client.Object{fast}, nil},
		"Empty, of the same driver":   {api.MethodEmpty, nil, nil, there("disks.example.com"), nil},
		"Empty, of another driver":    {api.MethodEmpty, nil, nil, there("other.example.com"), []string{class}},
		"Empty, no class is known":    {api.MethodEmpty, nil, nil, there("other.example.com")[1:], nil},
		"Empty, another class named":  {api.MethodEmpty, new("slow"), nil, []client.Object{fast}, []string{"DependencyNotCopied claim template data (warning)"}},
		"Empty, named in both":        {api.MethodEmpty, nil, new("gold"), []client.Object{fast}, []string{class}},
		"Rebind, named by a template": {api.MethodRebind, nil, new("gold"), there("other.example.com"), []string{class + " (warning)"}},
		"Rebind, another class named": {api.MethodRebind, new("slow"), new("gold"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := claimedSet(func(s *appsv1.StatefulSet) {
				s.Spec.VolumeClaimTemplates[0].Spec.VolumeAttributesClassName = tc.template
			})
			e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, attributed("gold")...), endpointtest.Serving(clustertest.Hooks{}, nil, tc.there...))}
			m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Method: tc.method, StorageClassName: tc.mapped}}}}
			findings, err := e.dependencies(t.Context(), m, set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, found(findings)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			for _, f := range findings {
				if f.Remedy == "" || !f.Warning && !strings.Contains(f.Remedy, "--storage-class data=CLASS") {
					t.Errorf("no remedy that leaves the class out: %+v", f)
				}
			}
		})
	}
}

// TestY15DeviceClasses: the device classes of a ResourceClaimTemplate that exists at the destination are looked up there.
func TestY15DeviceClasses(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	set.Spec.Template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
	template := endpointtest.Object(`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu, namespace: shop}, spec: {spec: {devices: {requests: [{name: a, exactly: {deviceClassName: large}}]}}}}`)
	large := endpointtest.Object(`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: large}}`)
	for name, tc := range map[string]struct {
		there []client.Object
		want  []string
	}{
		"no template":     {nil, []string{"DependencyMissing ResourceClaimTemplate shop/gpu in cluster west"}},
		"no device class": {[]client.Object{template}, []string{"DependencyMissing DeviceClass large in cluster west"}},
		"both":            {[]client.Object{template, large}, nil},
	} {
		e := &Inspector{Pair: endpointtest.Pair(endpointtest.Serving(clustertest.Hooks{}, nil, set), endpointtest.Serving(clustertest.Hooks{}, nil, tc.there...))}
		findings, err := e.dependencies(t.Context(), &api.Migration{}, set)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, found(findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestP11JudgedFieldsHaveTheirCheck: each field that the table leaves to a check has that check.
func TestP11JudgedFieldsHaveTheirCheck(t *testing.T) {
	known := map[string]bool{}
	for _, check := range Catalogue() {
		known[check.Name] = true
	}
	for _, name := range dependencies.Judged() {
		if !known[name] {
			t.Errorf("fields are left to check %q, which is not in the catalogue", name)
		}
	}
}
