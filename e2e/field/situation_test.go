package field

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// situation describes a situation of a real user by its differences from a default. In the default, StatefulSet
// web of two replicas in cluster east moves to cluster west. It has a headless Service, a claim template and a
// PodDisruptionBudget.
type situation struct {
	// Name describes the situation. Defect is the id of the defect that showed that the situation was missed.
	Name   string `json:"name"`
	Defect string `json:"defect,omitempty"`
	// Replicas, Claims and MaxUnavailable replace the defaults 2, [data] and 1. MaxUnavailable none means that
	// there is no PodDisruptionBudget.
	Replicas       *int32    `json:"replicas,omitempty"`
	Claims         *[]string `json:"claims,omitempty"`
	MaxUnavailable string    `json:"maxUnavailable,omitempty"`
	// To is the kind of move: cluster, namespace or name. The default is cluster.
	To string `json:"to,omitempty"`
	// Disk is the source of the volume of each ordinal's claim data, and Volume a strategic merge patch of that
	// volume. Without Disk, the volume is a path that both clusters share. $K stands for the ordinal.
	Disk   json.RawMessage `json:"disk,omitempty"`
	Volume json.RawMessage `json:"volume,omitempty"`
	// Set is a strategic merge patch of the StatefulSet.
	Set json.RawMessage `json:"set,omitempty"`
	// East and West are objects that exist in the clusters before the StatefulSet is created. $NS stands for
	// the application's namespace, which is also the default namespace of an object.
	East []json.RawMessage `json:"east,omitempty"`
	West []json.RawMessage `json:"west,omitempty"`
	// Policies are admission policies that refuse objects in west.
	Policies []policy `json:"policies,omitempty"`
	// Then are merge patches that are applied once all replicas are available.
	Then []change `json:"then,omitempty"`
	// Args are additional flags.
	Args []string `json:"args,omitempty"`
	// Found maps each expected reason to fail or warn. The output must contain each Text.
	Found map[string]string `json:"found,omitempty"`
	Text  []string          `json:"text,omitempty"`
}

// change is a merge patch of an object, or its deletion. A deletion need not complete.
type change struct {
	At          string          `json:"at,omitempty"` // the default is east
	Object      json.RawMessage `json:"object"`
	Subresource string          `json:"subresource,omitempty"`
	Patch       json.RawMessage `json:"patch,omitempty"`
	Delete      bool            `json:"delete,omitempty"`
}

// policy is a ValidatingAdmissionPolicy.
type policy struct {
	Name       string          `json:"name"`
	Rule       json.RawMessage `json:"rule"`
	When       string          `json:"when"`
	Expression string          `json:"expression"`
}

// situations reads the situations in all files of a folder.
func situations(t *testing.T, folder string) []situation {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no situations: %v", err)
	}
	var all []situation
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var these []situation
		if err := yaml.UnmarshalStrict(text, &these); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, each := range these {
			if each.Name == "" || names[each.Name] {
				t.Fatalf("%s: name %q is empty or taken", file, each.Name)
			}
			names[each.Name] = true
			all = append(all, each)
		}
	}
	return all
}

// deploy creates the objects of the situation.
func (s situation) deploy(t *testing.T) *harness.Move {
	t.Helper()
	app := harness.Usual(2)
	if s.Replicas != nil {
		app.Replicas = *s.Replicas
	}
	if s.Claims != nil {
		app.Claims = *s.Claims
	}
	switch s.MaxUnavailable {
	case "":
	case "none":
		app.MaxUnavailable = nil
	default:
		app.MaxUnavailable = harness.IntOrString(s.MaxUnavailable)
	}
	var wrong error
	app.Adapt = func(set *appsv1.StatefulSet) {
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].Spec.StorageClassName = new(s.class())
		}
		if wrong == nil && len(s.Set) > 0 {
			wrong = patched(set, strings.ReplaceAll(string(s.Set), "$NS", set.Namespace))
		}
	}
	where := map[string]harness.Setting{"": harness.AcrossClusters, "cluster": harness.AcrossClusters, "namespace": harness.AcrossNamespaces, "name": harness.AcrossNames}[s.To]
	before := func(v *harness.Move) {
		if app.MaxUnavailable != nil {
			most, err := intstr.GetScaledValueFromIntOrPercent(app.MaxUnavailable, int(app.Replicas), true)
			v.Must(err)
			v.Budget = int32(most) //nolint:gosec // as many as the replicas
		}
		v.Must(makeNamespace(v, v.From, v.App.Namespace))
		for _, object := range s.East {
			create(v, v.From, v.App.Namespace, object)
		}
		for ordinal := range app.Replicas {
			if len(s.Disk) > 0 {
				s.provision(v, ordinal)
			}
		}
		if len(s.West) > 0 {
			v.Must(makeNamespace(v, v.To, v.ToNamespace))
		}
		for _, object := range s.West {
			create(v, v.To, v.ToNamespace, object)
		}
	}
	v := harness.NewMove(t, app, where, before)
	v.Must(wrong)
	for _, each := range s.Policies {
		each.enforce(v)
	}
	for _, each := range s.Then {
		each.apply(v)
	}
	return v
}

// class returns the storage class of the claims: that of the driver, or the clusters' default class.
func (s situation) class() string {
	if strings.Contains(string(s.Disk), driver) {
		return "disk"
	}
	return "standard"
}

// provision creates the volume of an ordinal, as a provisioner would.
func (s situation) provision(v *harness.Move, ordinal int32) {
	v.T.Helper()
	name := fmt.Sprintf("%s-%d", v.App.Namespace, ordinal)
	fill := func(text json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(strings.ReplaceAll(string(text), "$NS", v.App.Namespace), "$K", strconv.Itoa(int(ordinal))))
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": map[string]any{"name": name}}}
	var source map[string]any
	v.Must(json.Unmarshal(fill(s.Disk), &source))
	maps.Copy(source, map[string]any{
		"capacity": map[string]any{"storage": "1Gi"}, "accessModes": []any{"ReadWriteOnce"}, "persistentVolumeReclaimPolicy": "Delete",
		"storageClassName": s.class(), "claimRef": map[string]any{"namespace": v.App.Namespace, "name": fmt.Sprintf("data-web-%d", ordinal)},
	})
	u.Object["spec"] = source
	whole, err := json.Marshal(u.Object)
	v.Must(err)
	if len(s.Volume) > 0 {
		whole, err = strategicpatch.StrategicMergePatch(whole, fill(s.Volume), corev1.PersistentVolume{})
		v.Must(err)
	}
	create(v, v.From, "", whole)
}

func patched(set *appsv1.StatefulSet, patch string) error {
	whole, err := json.Marshal(set)
	if err != nil {
		return err
	}
	if whole, err = strategicpatch.StrategicMergePatch(whole, []byte(patch), appsv1.StatefulSet{}); err != nil {
		return err
	}
	*set = appsv1.StatefulSet{}
	return json.Unmarshal(whole, set)
}

func clientOf(v *harness.Move, at harness.Cluster) client.Client {
	v.T.Helper()
	c, err := harness.Client(at)
	v.Must(err)
	return c
}

func makeNamespace(v *harness.Move, at harness.Cluster, name string) error {
	err := clientOf(v, at).Create(v.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// parsed decodes an object. Its default namespace is that of the application.
func parsed(v *harness.Move, at harness.Cluster, namespace string, object json.RawMessage) *unstructured.Unstructured {
	v.T.Helper()
	u := &unstructured.Unstructured{}
	v.Must(json.Unmarshal([]byte(strings.ReplaceAll(string(object), "$NS", namespace)), &u.Object))
	if namespaced, err := clientOf(v, at).IsObjectNamespaced(u); err == nil && namespaced && u.GetNamespace() == "" {
		u.SetNamespace(namespace)
	}
	return u
}

// create creates an object with its status. It deletes a cluster-scoped object at the end of the test.
func create(v *harness.Move, at harness.Cluster, namespace string, object json.RawMessage) {
	v.T.Helper()
	u, c := parsed(v, at, namespace, object), clientOf(v, at)
	status, has := u.Object["status"]
	if err := c.Create(v.Ctx, u); err != nil {
		v.T.Fatalf("creating %s %s: %v", u.GetKind(), u.GetName(), err)
	}
	if has {
		u.Object["status"] = status
		v.Must(c.Status().Update(v.Ctx, u))
	}
	if u.GetNamespace() == "" {
		v.T.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), harness.TimeLimit()) // the test's context has ended
			defer cancel()
			if err := client.IgnoreNotFound(c.Delete(ctx, u)); err != nil {
				v.T.Errorf("deleting %s %s: %v", u.GetKind(), u.GetName(), err)
			}
		})
	}
}

// enforce creates the policy in west and waits until it refuses an object.
func (p policy) enforce(v *harness.Move) {
	v.T.Helper()
	quoted := strconv.Quote
	create(v, v.To, v.ToNamespace, json.RawMessage(fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":%s},
		"spec":{"matchConstraints":{"resourceRules":[%s]},"matchConditions":[{"name":"when","expression":%s}],"validations":[{"expression":%s}]}}`,
		quoted(p.Name), p.Rule, quoted(p.When), quoted(p.Expression))))
	create(v, v.To, v.ToNamespace, json.RawMessage(fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":%s},
		"spec":{"policyName":%s,"validationActions":["Deny"]}}`, quoted(p.Name), quoted(p.Name))))
	v.Eventually("the policy is in force", func(ctx context.Context) (bool, error) {
		err := clientOf(v, v.To).Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.ToNamespace}}, client.DryRunAll)
		return apierrors.IsForbidden(err) || apierrors.IsInvalid(err), nil
	})
}

func (c change) apply(v *harness.Move) {
	v.T.Helper()
	at, namespace := v.From, v.App.Namespace
	if c.At == "west" {
		at, namespace = v.To, v.ToNamespace
	}
	u := parsed(v, at, namespace, c.Object)
	if c.Delete {
		v.Must(clientOf(v, at).Delete(v.Ctx, u))
		return
	}
	patch := client.RawPatch(types.MergePatchType, []byte(strings.ReplaceAll(string(c.Patch), "$NS", namespace)))
	if c.Subresource != "" {
		v.Must(clientOf(v, at).SubResource(c.Subresource).Patch(v.Ctx, u, patch))
		return
	}
	v.Must(clientOf(v, at).Patch(v.Ctx, u, patch))
}

// command returns a command of the product for this move.
func (s situation) command(v *harness.Move, verb string) []string {
	return append([]string{verb, "--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", v.To.Kubeconfig()}, s.flags(v)...)
}
