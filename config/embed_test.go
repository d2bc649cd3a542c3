package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

func TestCRDs(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatalf("CRDs: %v", err)
	}
	var got []string
	for _, crd := range crds {
		got = append(got, crd.Name)
		if crd.Kind != "CustomResourceDefinition" {
			t.Errorf("%s has kind %q", crd.Name, crd.Kind)
		}
	}
	if !slices.Contains(got, "migrations."+api.GroupVersion.Group) {
		t.Errorf("no CRD of Migration among %v", got)
	}
	if files, _ := filepath.Glob("crd/*.yaml"); len(files) != len(crds) {
		t.Errorf("%d files, %d CRDs", len(files), len(crds))
	}
}

// managerObject decodes strictly, so that a misspelt field fails.
func managerObject[T any](t *testing.T, kind, name string) T {
	t.Helper()
	objects, err := ManagerObjects()
	if err != nil {
		t.Fatalf("ManagerObjects: %v", err)
	}
	var typed T
	for _, object := range objects {
		if object.GetKind() == kind && object.GetName() == name {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed, true); err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			return typed
		}
	}
	t.Fatalf("no %s %s", kind, name)
	return typed
}

func TestManagerObjects(t *testing.T) {
	objects, err := ManagerObjects()
	if err != nil {
		t.Fatalf("ManagerObjects: %v", err)
	}
	want := []string{
		"Namespace sliceshift-system",
		"ServiceAccount sliceshift-manager",
		"ClusterRole sliceshift-manager", "ClusterRole sliceshift-metrics-auth", "ClusterRole sliceshift-metrics-reader", "ClusterRole sliceshift-mover-dependencies", "ClusterRole sliceshift-mover-dependencies-cluster",
		"ClusterRole sliceshift-mover", "ClusterRole sliceshift-mover-cluster", "ClusterRole sliceshift-mover-gates", "ClusterRole sliceshift-mover-jobs", "ClusterRole sliceshift-mover-pods", "ClusterRole sliceshift-mover-snapshots", "ClusterRole sliceshift-mover-snapshots-cluster", "ClusterRole sliceshift-mover-writers",
		"ClusterRole sliceshift-page-user", "ClusterRole sliceshift-rehearser", "ClusterRole sliceshift-rehearser-cluster",
		"ClusterRole sliceshift-rehearser-destination", "ClusterRole sliceshift-rehearser-stage", "ClusterRole sliceshift-revision-inputs",
		"ClusterRole sliceshift-slices", "ClusterRole sliceshift-migration-viewer", "ClusterRole sliceshift-migration-pauser", "ClusterRole sliceshift-migration-editor",
		"ClusterRole sliceshift-statefulset-viewer", "ClusterRole sliceshift-statefulset-editor",
		"Role sliceshift-leader-election",
		"ClusterRoleBinding sliceshift-manager", "ClusterRoleBinding sliceshift-metrics-auth", "ClusterRoleBinding sliceshift-slices",
		"RoleBinding sliceshift-leader-election",
		"Service sliceshift-manager-metrics",
		"Deployment sliceshift-manager",
	}
	var got []string
	for _, object := range objects {
		got = append(got, object.GetKind()+" "+object.GetName())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	namespace := managerObject[corev1.Namespace](t, "Namespace", "sliceshift-system").Name
	deployment := managerObject[appsv1.Deployment](t, "Deployment", "sliceshift-manager")
	account := managerObject[corev1.ServiceAccount](t, "ServiceAccount", "sliceshift-manager")
	if deployment.Namespace != namespace || account.Namespace != namespace {
		t.Errorf("Deployment in %q, ServiceAccount in %q, want %q", deployment.Namespace, account.Namespace, namespace)
	}
	pod := deployment.Spec.Template.Spec
	if pod.ServiceAccountName != account.Name || pod.Containers[0].Image != ManagerImage {
		t.Errorf("runs %s as %s, want %s as %s", pod.Containers[0].Image, pod.ServiceAccountName, ManagerImage, account.Name)
	}
}

// TestManagerRights: the manager has exactly the permissions of its role. A change here changes what docs/security.md
// promises.
func TestManagerRights(t *testing.T) {
	clusterRole := func(name string) []rbacv1.PolicyRule {
		return managerObject[rbacv1.ClusterRole](t, "ClusterRole", name).Rules
	}
	for name, tc := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  []string
	}{
		"cluster role": {clusterRole("sliceshift-manager"), []string{
			"evacuations.migration.sliceshift.io: get,list,watch",
			"evacuations/status.migration.sliceshift.io: patch",
			"events.events.k8s.io: create,patch",
			"events: create",
			"migrations.migration.sliceshift.io: list,patch,watch",
			"migrations/status.migration.sliceshift.io: patch,update",
			"secrets: get",
			"serviceaccounts: impersonate",
		}},
		"X-29 cluster role for slices": {clusterRole("sliceshift-slices"), []string{
			"controllerrevisions.apps: create,delete,get,list,patch,watch",
			"leases.coordination.k8s.io: get",
			"nodes: get",
			"nodes: list,watch",
			"persistentvolumeclaims: create,get,list,patch,watch",
			"persistentvolumeclaims: delete",
			"poddisruptionbudgets.policy: list,watch",
			"poddisruptionbudgets/status.policy: patch",
			"pods/eviction: create",
			"pods/finalizers: update",
			"pods/resize: patch",
			"pods/status: patch",
			"pods: create,delete,list,patch,watch",
			"statefulsets.apps.sliceshift.io: get,list,patch,watch",
			"statefulsets/finalizers.apps.sliceshift.io: update",
			"statefulsets/status.apps.sliceshift.io: update",
		}},
		"cluster role for metrics": {clusterRole("sliceshift-metrics-auth"), []string{"subjectaccessreviews.authorization.k8s.io: create", "tokenreviews.authentication.k8s.io: create"}},
		"role":                     {managerObject[rbacv1.Role](t, "Role", "sliceshift-leader-election").Rules, []string{"leases.coordination.k8s.io: create,get,update"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, rights(tc.rules)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRightsOfRoles: each role that a user binds has exactly these permissions. A mover needs only read access to pods
// and a dry run, and no access to Secrets unless it copies them. A role in neither table fails.
func TestRightsOfRoles(t *testing.T) {
	want := map[string][]string{
		"sliceshift-metrics-reader":   {"/metrics: get"},
		"sliceshift-page-user":        {"/ui: get,post"},
		"sliceshift-migration-viewer": {"evacuations.migration.sliceshift.io: get,list,watch", "migrations.migration.sliceshift.io: get,list,watch"},
		"sliceshift-migration-pauser": {"migrations.migration.sliceshift.io: get,list,patch,watch"},
		"sliceshift-migration-editor": {
			"evacuations.migration.sliceshift.io: create,delete,get,list,patch,update,watch",
			"migrations.migration.sliceshift.io: create,delete,get,list,patch,update,watch",
		},
		"sliceshift-statefulset-viewer": {
			"controllerrevisions.apps: get,list,watch",
			"statefulsets.apps.sliceshift.io: get,list,watch",
			"statefulsets/scale.apps.sliceshift.io: get,list,watch",
			"statefulsets/status.apps.sliceshift.io: get,list,watch",
		},
		"sliceshift-statefulset-editor": {
			"statefulsets.apps.sliceshift.io: create,delete,get,list,patch,update,watch",
			"statefulsets/scale.apps.sliceshift.io: get,patch,update",
		},
		"sliceshift-mover": {
			"configmaps: create,get,list,update,watch",
			"events: list",
			"horizontalpodautoscalers.autoscaling: list",
			"persistentvolumeclaims: create,delete,get,list,patch,watch",
			"poddisruptionbudgets.policy: create,delete,get,list,patch,watch",
			"pods: create,get,list,watch",
			"resourcequotas: list",
			"rolebindings.rbac.authorization.k8s.io: list",
			"roles.rbac.authorization.k8s.io: get",
			"scaledobjects.keda.sh: list",
			"serviceaccounts: get",
			"serviceexports.multicluster.x-k8s.io: create,delete,get,list,patch",
			"services: create,delete,get,list,patch,watch",
			"statefulsets.apps.sliceshift.io: create,delete,get,list,patch,watch",
			"statefulsets.apps: create,delete,get,list,patch,watch",
			"verticalpodautoscalers.autoscaling.k8s.io: list",
		},
		"sliceshift-mover-cluster": {
			"clusterrolebindings.rbac.authorization.k8s.io: list",
			"clusterroles.rbac.authorization.k8s.io: get",
			"csidrivers.storage.k8s.io: get",
			"csinodes.storage.k8s.io: list",
			"namespaces: create,get",
			"nodes: list",
			"persistentvolumes: create,delete,get,list,patch,watch",
			"priorityclasses.scheduling.k8s.io: get",
			"runtimeclasses.node.k8s.io: get",
			"storageclasses.storage.k8s.io: get,list",
			"volumeattachments.storage.k8s.io: list,watch",
			"volumeattributesclasses.storage.k8s.io: get",
		},
		"sliceshift-mover-gates": {
			"pods/portforward: create",
			"pods/proxy: get",
			"pods: get",
		},
		"sliceshift-mover-jobs": {"jobs.batch: create,get,patch"},
		"sliceshift-mover-pods": {"pods/eviction: create", "pods/portforward: create", "pods: create,delete,get,patch"},
		"sliceshift-mover-snapshots": {
			"pods: create,delete,get",
			"volumesnapshots.snapshot.storage.k8s.io: create,delete,get,list",
		},
		"sliceshift-mover-snapshots-cluster": {
			"volumesnapshotclasses.snapshot.storage.k8s.io: list",
			"volumesnapshotcontents.snapshot.storage.k8s.io: create,delete,get,patch",
		},
		"sliceshift-mover-writers": {
			"alertmanagers.monitoring.coreos.com: get,patch",
			"applications.argoproj.io: get,patch",
			"connects.platform.confluent.io: get,patch",
			"elasticsearches.elasticsearch.k8s.elastic.co: get,patch",
			"helmreleases.helm.toolkit.fluxcd.io: get,patch",
			"kafkaconnects.kafka.strimzi.io: get,patch",
			"kafkamirrormaker2s.kafka.strimzi.io: get,patch",
			"kafkas.kafka.strimzi.io: get,patch",
			"kafkas.platform.confluent.io: get,patch",
			"kraftcontrollers.platform.confluent.io: get,patch",
			"ksqldbs.platform.confluent.io: get,patch",
			"kustomizations.kustomize.toolkit.fluxcd.io: get,patch",
			"mariadbs.k8s.mariadb.com: get,patch",
			"prometheuses.monitoring.coreos.com: get,patch",
			"rabbitmqclusters.rabbitmq.com: get,patch",
			"scaledobjects.keda.sh: get,list,patch",
			"schemaregistries.platform.confluent.io: get,patch",
			"sgclusters.stackgres.io: get,patch",
			"strimzipodsets.core.strimzi.io: get,patch",
			"thanosrulers.monitoring.coreos.com: get,patch",
			"tidbclusters.pingcap.com: get,patch",
			"vmagents.operator.victoriametrics.com: get,patch",
			"vmalertmanagers.operator.victoriametrics.com: get,patch",
			"vmclusters.operator.victoriametrics.com: get,patch",
			"zookeepers.platform.confluent.io: get,patch",
		},
		"sliceshift-mover-dependencies": {
			"configmaps: create,delete,get,list,update",
			"endpoints: get",
			"networkpolicies.networking.k8s.io: create,delete,get,list,update",
			"resourceclaims.resource.k8s.io: get",
			"resourceclaimtemplates.resource.k8s.io: create,delete,get,list,update",
			"rolebindings.rbac.authorization.k8s.io: create,delete,get,list,update",
			"roles.rbac.authorization.k8s.io: create,delete,get,list,update",
			"secretproviderclasses.secrets-store.csi.x-k8s.io: create,delete,get,list,update",
			"secrets: create,delete,get,list,update",
			"serviceaccounts: create,delete,get,list,update",
			"services: create,delete,get,list,update",
			"volumesnapshots.snapshot.storage.k8s.io: get",
		},
		"sliceshift-rehearser": {
			"configmaps: create,get,update",
			"events: list",
			"networkpolicies.networking.k8s.io: list",
			"persistentvolumeclaims: get",
			"pods: get,list",
			"resourceclaimtemplates.resource.k8s.io: get",
			"rolebindings.rbac.authorization.k8s.io: list",
			"roles.rbac.authorization.k8s.io: get",
			"secretproviderclasses.secrets-store.csi.x-k8s.io: get",
			"secrets: get",
			"serviceaccounts: get",
			"services: get,list",
			"statefulsets.apps.sliceshift.io: get",
			"statefulsets.apps: get",
			"volumesnapshots.snapshot.storage.k8s.io: create,delete,get,list",
		},
		"sliceshift-rehearser-cluster": {
			"namespaces: get",
			"persistentvolumes: get",
			"volumesnapshotclasses.snapshot.storage.k8s.io: list",
			"volumesnapshotcontents.snapshot.storage.k8s.io: get,patch",
		},
		"sliceshift-rehearser-destination": {
			"clusterroles.rbac.authorization.k8s.io: bind",
			"namespaces: create,get",
			"persistentvolumes: get,list,patch",
			"rolebindings.rbac.authorization.k8s.io: create",
			"services: get",
			"storageclasses.storage.k8s.io: list",
			"volumesnapshotclasses.snapshot.storage.k8s.io: list",
			"volumesnapshotcontents.snapshot.storage.k8s.io: create,delete,get,list",
		},
		"sliceshift-rehearser-stage": {
			"configmaps: create,get",
			"events: list",
			"jobs.batch: create,get,patch",
			"namespaces: delete",
			"networkpolicies.networking.k8s.io: create,list",
			"persistentvolumeclaims: create,delete,get,list",
			"pods/portforward: create",
			"pods/proxy: get",
			"pods: create,delete,get,list,patch",
			"resourceclaimtemplates.resource.k8s.io: create,get",
			"secrets: create,get",
			"serviceaccounts: create,get",
			"services: create,get",
			"statefulsets.apps.sliceshift.io: create,delete,get",
			"statefulsets.apps: create,delete,get",
			"volumesnapshots.snapshot.storage.k8s.io: create,delete,get,list",
		},
		"sliceshift-revision-inputs": {
			"configmaps: create,get,patch,watch",
			"secrets: create,get,patch",
		},
		"sliceshift-mover-dependencies-cluster": {
			"clusterroles.rbac.authorization.k8s.io: get",
			"clustertrustbundles.certificates.k8s.io: get",
			"deviceclasses.resource.k8s.io: get",
			"gmsacredentialspecs.windows.k8s.io: get",
			"storageclasses.storage.k8s.io: get",
			"volumeattributesclasses.storage.k8s.io: get",
		},
	}
	objects, err := ManagerObjects()
	if err != nil {
		t.Fatal(err)
	}
	bound := []string{"sliceshift-manager", "sliceshift-slices", "sliceshift-metrics-auth"} // tested by TestManagerRights
	for _, object := range objects {
		name := object.GetName()
		if object.GetKind() != "ClusterRole" || slices.Contains(bound, name) {
			continue
		}
		if diff := cmp.Diff(want[name], rights(managerObject[rbacv1.ClusterRole](t, "ClusterRole", name).Rules)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("there is no ClusterRole %s", name)
	}
}

func rights(rules []rbacv1.PolicyRule) []string {
	var all []string
	for _, rule := range rules {
		for _, url := range rule.NonResourceURLs {
			all = append(all, url+": "+strings.Join(slices.Sorted(slices.Values(rule.Verbs)), ","))
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				verbs := slices.Sorted(slices.Values(rule.Verbs))
				all = append(all, strings.TrimSuffix(resource+"."+group, ".")+": "+strings.Join(verbs, ","))
			}
		}
	}
	slices.Sort(all)
	return all
}

// kustomized returns the files that a kustomization applies.
func kustomized(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Resources
}

// TestKustomization: kustomize applies every embedded file.
func TestKustomization(t *testing.T) {
	got := kustomized(t, "kustomization.yaml")
	want := []string{"admission/authors.yaml", "admission/rehearsals.yaml"}
	for _, pattern := range []string{"crd/*.yaml", "manager/*.yaml", "rbac/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, files...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

func TestSamples(t *testing.T) {
	files, err := filepath.Glob("samples/migration_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			type strict api.Migration
			var migration strict
			if err := yaml.UnmarshalStrict(data, &migration); err != nil {
				t.Fatalf("not a Migration: %v", err)
			}
			if got, want := migration.APIVersion, api.GroupVersion.String(); got != want {
				t.Errorf("apiVersion: got %s, want %s", got, want)
			}
		})
	}
}
