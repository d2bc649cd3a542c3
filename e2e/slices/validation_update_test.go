package slices

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/config"
)

var (
	grown     = put("spec.volumeClaimTemplates.0.spec.resources.requests.storage", "2Gi")
	shrunk    = put("spec.volumeClaimTemplates.0.spec.resources.requests.storage", "512Mi")
	onRolling = put("spec.volumeClaimUpdateStrategy.type", "OnPodRollingUpdate")
	onDelete  = put("spec.volumeClaimUpdateStrategy.type", "OnDelete")

	onlyInPlace = all(put("spec.replicas", "1"), put(rollingPath+".podUpdatePolicy", "InPlaceOnly"), put("spec.template.spec.readinessGates", gate))
)

// The messages for changes of claim templates that no strategy permits, or only OnDelete.
const (
	onlyVolumes  = "only resources.requests.storage, storageClassName, volumeAttributesClassName and accessModes may change"
	onlyOnDelete = "may only change with volumeClaimUpdateStrategy.type OnDelete"
)

// notInPlace is the message for a template change that needs new pods.
const notInPlace = "template cannot be changed in place, and the podUpdatePolicy is InPlaceOnly"

func restartedAt(at string) edit {
	return put("spec.template.metadata.annotations", "{kubectl.kubernetes.io/restartedAt: \""+at+"\"}")
}

// TestImmutable: an update may change some fields and not others.
func TestImmutable(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before edit
		after  edit
		want   string // part of the refusal; empty: accepted
	}{
		{"selector", all(), all(put("spec.selector.matchLabels.tier", "db"), put("spec.template.metadata.labels.tier", "db")), "selector is immutable"},
		{"serviceName", all(), put("spec.serviceName", "other"), "serviceName is immutable"},
		{"serviceName removed", all(), drop("spec.serviceName"), "serviceName is immutable"},
		{"podManagementPolicy", all(), parallel, "podManagementPolicy is immutable"},
		{"podManagementPolicy removed", parallel, drop("spec.podManagementPolicy"), "podManagementPolicy is immutable"},
		{"claim template added", all(), claimed, "volumeClaimTemplates is immutable"},
		{"claim template removed", claimed, drop("spec.volumeClaimTemplates"), "volumeClaimTemplates is immutable"},
		{"claim grown without a strategy", claimed, grown, "volumeClaimTemplates is immutable"},

		{"claim grown", all(claimed, onRolling), grown, ""},
		{"claim grown in other units", all(claimed, onRolling), put("spec.volumeClaimTemplates.0.spec.resources.requests.storage", "1100M"), ""},
		{"claim grown while the strategy is set", claimed, all(grown, onRolling), ""},
		{"claim grown for those who delete it", all(claimed, onDelete), grown, ""},
		{"claim grown while the strategy is removed", all(claimed, onRolling), all(grown, drop("spec.volumeClaimUpdateStrategy")), "volumeClaimTemplates is immutable"},
		{"R-097 claim shrunk", all(claimed, onRolling), shrunk, "may only grow"},
		{"claim shrunk for those who delete it", all(claimed, onDelete), shrunk, ""},
		{"claim shrunk while OnDelete is set", claimed, all(shrunk, onDelete), ""},
		{"claim renamed", all(claimed, onDelete), put("spec.volumeClaimTemplates.0.metadata.name", "other"), onlyVolumes},
		{"claim with another class", all(claimed, onRolling), put("spec.volumeClaimTemplates.0.spec.storageClassName", "fast"), onlyOnDelete},
		{"claim with another class without a strategy", claimed, put("spec.volumeClaimTemplates.0.spec.storageClassName", "fast"), onlyOnDelete},
		{"claim with another class for those who delete it", all(claimed, onDelete), put("spec.volumeClaimTemplates.0.spec.storageClassName", "fast"), ""},
		{"claim with other attributes for those who delete it", all(claimed, onDelete), put("spec.volumeClaimTemplates.0.spec.volumeAttributesClassName", "gold"), ""},
		{"claim with another access mode", all(claimed, onRolling), put("spec.volumeClaimTemplates.0.spec.accessModes", "[ReadWriteMany]"), onlyOnDelete},
		{"claim with another access mode for those who delete it", all(claimed, onDelete), put("spec.volumeClaimTemplates.0.spec.accessModes", "[ReadWriteMany]"), ""},
		{"claim with a limit", all(claimed, onDelete), put("spec.volumeClaimTemplates.0.spec.resources.limits.storage", "5Gi"), onlyVolumes},
		{"claim with a label", all(claimed, onDelete), put("spec.volumeClaimTemplates.0.metadata.labels.a", "b"), onlyVolumes},
		{"claim template added under a strategy", onRolling, claimed, "no template can be added or removed"},
		{"claim template removed under a strategy", all(claimed, onDelete), drop("spec.volumeClaimTemplates"), "no template can be added or removed"},

		{"replicas", all(), put("spec.replicas", "3"), ""},
		{"template", all(), put("spec.template.spec.containers.0.image", "web:2"), ""},
		{"strategy", all(), put("spec.updateStrategy", "{type: OnDelete}"), ""},
		{"minReadySeconds", all(), put("spec.minReadySeconds", "7"), ""},
		{"ordinals", all(), put("spec.ordinals.start", "4"), ""},
		{"ordinals removed", put("spec.ordinals.start", "4"), drop("spec.ordinals"), ""},
		{"revisionHistoryLimit", all(), put("spec.revisionHistoryLimit", "2"), ""},
		{"retention policy", all(), put("spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Delete"), ""},
		{"reserveOrdinals", all(), put("spec.reserveOrdinals", "[1]"), ""},
		{"scaleStrategy", parallel, put("spec.scaleStrategy.maxUnavailable", "3"), ""},
		{"lifecycle", all(), put("spec.lifecycle.preDelete.markPodNotReady", "true"), ""},
		{"paused", all(), put("spec.paused", "true"), ""},
		{"U-05 InPlaceOnly and an image", onlyInPlace, put("spec.template.spec.containers.0.image", "web:2"), ""},
		{"U-05 InPlaceOnly and a label", onlyInPlace, put("spec.template.metadata.labels.tier", "back"), ""},
		{"U-05 InPlaceOnly and resources", onlyInPlace, put("spec.template.spec.containers.0.resources.requests.cpu", "1"), ""},
		{"U-05 InPlaceOnly and a command", onlyInPlace, put("spec.template.spec.containers.0.command", "[sh]"), notInPlace},
		{"U-05 InPlaceOnly and a variable", onlyInPlace, put("spec.template.spec.containers.0.env", "[{name: a, value: b}]"), notInPlace},
		{"U-05 InPlaceOnly and a mount", onlyInPlace, put("spec.template.spec.containers.0.volumeMounts", "[{name: a, mountPath: /a}]"), notInPlace},
		{"U-05 InPlaceOnly and a port", onlyInPlace, put("spec.template.spec.containers.0.ports", "[{containerPort: 80}]"), notInPlace},
		{"U-05 InPlaceOnly and another container", onlyInPlace, put("spec.template.spec.containers", "[{name: web, image: web}, {name: log, image: log}]"), notInPlace},
		{"U-05 InPlaceOnly and an init container", onlyInPlace, put("spec.template.spec.initContainers", "[{name: log, image: log}]"), notInPlace},
		{"U-05 InPlaceOnly and another image of an init container", all(onlyInPlace, put("spec.template.spec.initContainers", "[{name: log, image: log}]")), put("spec.template.spec.initContainers.0.image", "log:2"), notInPlace},
		{"U-05 InPlaceOnly and a volume", onlyInPlace, put("spec.template.spec.volumes", "[{name: a}]"), notInPlace},
		{"U-05 InPlaceOnly and a node selector", onlyInPlace, put("spec.template.spec.nodeSelector.a", "b"), notInPlace},
		{"U-05 InPlaceOnly and an account", onlyInPlace, put("spec.template.spec.serviceAccountName", "a"), notInPlace},
		{"U-05 InPlaceOnly and a restart", onlyInPlace, restartedAt("2026-01-01T12:00:00Z"), notInPlace},
		{"U-05 InPlaceOnly and another restart", all(onlyInPlace, restartedAt("2026-01-01T12:00:00Z")), restartedAt("2026-01-01T13:00:00Z"), notInPlace},
		{"U-05 InPlaceOnly and a restart that is taken back", all(onlyInPlace, restartedAt("2026-01-01T12:00:00Z")), drop("spec.template.metadata.annotations"), ""},
		{"U-05 InPlaceOnly, and the policy changes with the command", onlyInPlace, all(put(rollingPath+".podUpdatePolicy", "InPlaceIfPossible"), put("spec.template.spec.containers.0.command", "[sh]")), ""},
		{"U-05 InPlaceOnly comes with the command: it is held", put("spec.template.spec.readinessGates", gate), all(put(rollingPath+".podUpdatePolicy", "InPlaceOnly"), put("spec.template.spec.containers.0.command", "[sh]")), ""},
		{"U-05 InPlaceOnly without replicas", all(onlyInPlace, put("spec.replicas", "0")), put("spec.template.spec.containers.0.command", "[sh]"), ""},
		{"template that no longer matches", all(), put("spec.template.metadata.labels.app", "other"), "template.metadata.labels must have every label"},
	} {
		t.Run("K-210 R-141 "+tc.name, func(t *testing.T) {
			t.Parallel()
			object := manifest(t, quiet(t), newNamespace(t), tc.before)
			mustCreate(t, object)
			err := update(t, object, tc.after)
			if tc.want != "" {
				wantRefused(t, err, tc.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// update dry-runs the change of a stored object.
func update(t testing.TB, object *unstructured.Unstructured, edits ...edit) error {
	t.Helper()
	return api.Update(bounded(t), changed(t, object, edits...), client.DryRunAll)
}

// TestPartitionIsLeftAlone: a partition that lies outside the range because the range moved prevents neither scaling
// nor a migration.
func TestPartitionIsLeftAlone(t *testing.T) {
	object := manifest(t, quiet(t), newNamespace(t), put("spec.replicas", "5"), put(rollingPath+".partition", "4"))
	mustCreate(t, object)
	for name, after := range map[string]edit{
		"scaled below it":      put("spec.replicas", "2"),
		"moved above it":       put("spec.ordinals.start", "9"),
		"moved, and a policy":  all(put("spec.ordinals.start", "9"), put("spec.minReadySeconds", "3")),
		"changed in the range": put(rollingPath+".partition", "2"),
	} {
		t.Run("S-015 "+name, func(t *testing.T) {
			if err := update(t, object, after); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("S-015 changed to one outside of the range", func(t *testing.T) {
		wantRefused(t, update(t, object, put("spec.replicas", "2"), put(rollingPath+".partition", "3")), "partition is an ordinal")
	})
}

// TestStatusRules: the rules limit the counts of a status, and status and spec are written separately.
func TestStatusRules(t *testing.T) {
	object := manifest(t, quiet(t), newNamespace(t), put("status", "{replicas: 9, collisionCount: 9}"))
	mustCreate(t, object)
	t.Run("K-207: a new object has no status but the generation observed, and generation 1", func(t *testing.T) {
		if got, generation := fmt.Sprint(at(object, "status")), object.GetGeneration(); got != "map[observedGeneration:0]" || generation != 1 {
			t.Errorf("status %v, generation %d", got, generation)
		}
	})
	t.Run("U-01: nobody takes one that no controller has seen for ready", func(t *testing.T) {
		if err := api.Get(bounded(t), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if got, err := status.Compute(object); err != nil || got.Status != status.InProgressStatus {
			t.Errorf("%+v, %v", got, err)
		}
	})
	good := changed(t, object, put("status", "{replicas: 3, readyReplicas: 2, availableReplicas: 1, currentReplicas: 3, updatedReplicas: 0, collisionCount: 2, observedGeneration: 1}"), put("spec.minReadySeconds", "4"))
	t.Run("K-207: a write of the status does not touch the spec", func(t *testing.T) {
		if err := api.Status().Update(bounded(t), good); err != nil {
			t.Fatal(err)
		}
		if at(good, "spec.minReadySeconds") != nil || good.GetGeneration() != 1 {
			t.Errorf("spec %v, generation %d", at(good, "spec"), good.GetGeneration())
		}
	})
	for _, tc := range []refusal{
		{"replicas negative", put("status.replicas", "-1"), "status.replicas"},
		{"readyReplicas negative", put("status.readyReplicas", "-1"), "status.readyReplicas"},
		{"currentReplicas negative", put("status.currentReplicas", "-1"), "status.currentReplicas"},
		{"updatedReplicas negative", put("status.updatedReplicas", "-1"), "status.updatedReplicas"},
		{"availableReplicas negative", put("status.availableReplicas", "-1"), "status.availableReplicas"},
		{"updatedReadyReplicas negative", put("status.updatedReadyReplicas", "-1"), "status.updatedReadyReplicas"},
		{"observedGeneration negative", put("status.observedGeneration", "-1"), "status.observedGeneration"},
		{"more ready", put("status.readyReplicas", "4"), "status.readyReplicas must not be greater than status.replicas"},
		{"more current", put("status.currentReplicas", "4"), "status.currentReplicas must not be greater than status.replicas"},
		{"more updated", put("status.updatedReplicas", "4"), "status.updatedReplicas must not be greater than status.replicas"},
		{"more available", put("status.availableReplicas", "4"), "status.availableReplicas must not be greater than status.replicas"},
		{"more available than ready", put("status.availableReplicas", "3"), "status.availableReplicas must not be greater than status.readyReplicas"},
		{"collisionCount lower", put("status.collisionCount", "1"), "status.collisionCount must not become lower"},
		{"collisionCount removed", drop("status.collisionCount"), "status.collisionCount must not become lower"},
	} {
		t.Run("K-213 S-010 "+tc.name, func(t *testing.T) {
			err := api.Status().Update(bounded(t), changed(t, good, tc.edit), client.DryRunAll)
			wantRefused(t, err, tc.want)
		})
	}
	higher := changed(t, good, put("status.collisionCount", "3"))
	if err := api.Status().Update(bounded(t), higher, client.DryRunAll); err != nil {
		t.Errorf("collisionCount higher: %v", err)
	}
}

// TestSpecHasTheGeneration: a change of the spec increases the generation, and a change of metadata does not. An
// update of the spec cannot change the status.
func TestSpecHasTheGeneration(t *testing.T) {
	t.Run("K-207, K-208: metadata, the spec, and the status by the spec", func(t *testing.T) {
		object := manifest(t, quiet(t), newNamespace(t))
		mustCreate(t, object)
		for _, step := range []struct {
			edit edit
			want int64
		}{
			{put("metadata.annotations.a", "b"), 1},
			{put("spec.minReadySeconds", "3"), 2},
			{put("status.replicas", "3"), 2},
		} {
			object = changed(t, object, step.edit)
			if err := api.Update(bounded(t), object); err != nil {
				t.Fatal(err)
			}
			if got := object.GetGeneration(); got != step.want {
				t.Errorf("generation %d, want %d", got, step.want)
			}
		}
		if got := at(object, "status.replicas"); got != nil {
			t.Errorf("an update of the spec wrote the status: %v", got)
		}
	})
}

// TestScaleSubresource covers reads, writes and refusals of scale. For a custom resource, unlike for apps/v1, the API
// server does not check the UID in the scale.
func TestScaleSubresource(t *testing.T) {
	object := manifest(t, quiet(t), newNamespace(t), put("spec.replicas", "1"))
	mustCreate(t, object)
	if err := api.Status().Update(bounded(t), changed(t, object, put("status", "{replicas: 1, labelSelector: app=web}"))); err != nil {
		t.Fatal(err)
	}
	scale := newScale()
	if err := api.SubResource("scale").Get(bounded(t), object, scale); err != nil {
		t.Fatal(err)
	}
	t.Run("K-200, K-203, R-143: it is read", func(t *testing.T) {
		if at(scale, "spec.replicas") != int64(1) || at(scale, "status.replicas") != int64(1) || at(scale, "status.selector") != "app=web" {
			t.Errorf("scale %v", scale)
		}
	})
	t.Run("K-201: it is written", func(t *testing.T) {
		twice := changed(t, scale, put("spec.replicas", "2"))
		if err := api.SubResource("scale").Update(bounded(t), object, client.WithSubResourceBody(twice)); err != nil {
			t.Fatal(err)
		}
		wantReplicas(t, object, 2)
	})
	t.Run("K-202: it is patched", func(t *testing.T) {
		if err := patchScale(t, object, `{"spec":{"replicas":4}}`); err != nil {
			t.Fatal(err)
		}
		wantReplicas(t, object, 4)
	})
	t.Run("K-204: an old version, a wrong one, and a set that is missing", func(t *testing.T) {
		if err := api.SubResource("scale").Update(bounded(t), object.DeepCopy(), client.WithSubResourceBody(scale)); !apierrors.IsConflict(err) {
			t.Errorf("a scale that was read before another write: %v", err)
		}
		if err := patchScale(t, object, `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":5}}`); !apierrors.IsConflict(err) {
			t.Errorf("patching with a wrong resourceVersion: %v", err)
		}
		if err := patchScale(t, changed(t, object, put("metadata.name", "missing")), `{"spec":{"replicas":5}}`); !apierrors.IsNotFound(err) {
			t.Errorf("scaling what is missing: %v", err)
		}
	})
	t.Run("U-11: to what no set may have", func(t *testing.T) {
		for replicas, says := range map[int]string{
			-1: "spec.replicas", 1000001: "less than or equal to 1000000", 2147483647: "less than or equal to 1000000",
		} {
			err := patchScale(t, object, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), says) {
				t.Errorf("scaling to %d: %v", replicas, err)
			}
		}
		wantReplicas(t, object, 4)
	})
	t.Run("U-11: beyond the last ordinal", func(t *testing.T) {
		high := manifest(t, quiet(t), newNamespace(t), put("spec.replicas", "1"), put("spec.ordinals.start", "2147483640"))
		mustCreate(t, high)
		if err := patchScale(t, high, `{"spec":{"replicas":9}}`); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "2147483647") {
			t.Errorf("scaling beyond the last ordinal: %v", err)
		}
	})
}

func newScale() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale"}}
}

// TestScaleTogether: many concurrent clients that scale see no conflict.
func TestScaleTogether(t *testing.T) {
	t.Run("K-205: a hundred", func(t *testing.T) {
		object := manifest(t, quiet(t), newNamespace(t))
		mustCreate(t, object)
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				if err := patchScale(t, object, fmt.Sprintf(`{"spec":{"replicas":%d}}`, i%3)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	})
}

func patchScale(t *testing.T, object *unstructured.Unstructured, patch string) error {
	return api.SubResource("scale").Patch(bounded(t), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)),
		client.WithSubResourceBody(newScale()))
}

func wantReplicas(t *testing.T, object *unstructured.Unstructured, want int64) {
	t.Helper()
	if err := api.Get(bounded(t), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	if got := at(object, "spec.replicas"); got != want {
		t.Errorf("spec.replicas is %v, want %d", got, want)
	}
}

// TestDiscovery covers the names of the kind. The short name of apps/v1 is not used, because kubectl would then answer
// for either kind.
func TestDiscovery(t *testing.T) {
	t.Run("K-215, R-143: short names and categories", func(t *testing.T) {
		resources, err := discovery.NewDiscoveryClientForConfigOrDie(one).ServerResourcesForGroupVersion(ours)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range resources.APIResources {
			if resource.Name != "statefulsets" {
				continue
			}
			if got := fmt.Sprint(resource.ShortNames, resource.Categories); got != "[slice slices] [all]" {
				t.Errorf("short names and categories are %s", got)
			}
			return
		}
		t.Error("statefulsets are not served")
	})
}

// TestDeletionIsInTheBackground: a deletion of the set without a propagation policy neither orphans its dependents nor
// waits for them. No finalizer requests that.
func TestDeletionIsInTheBackground(t *testing.T) {
	t.Run("K-215: without a word of its dependents", func(t *testing.T) {
		object := manifest(t, quiet(t), newNamespace(t), put("metadata.finalizers", "[example.com/hold]"))
		mustCreate(t, object)
		if err := api.Delete(bounded(t), object); err != nil {
			t.Fatal(err)
		}
		if err := api.Get(bounded(t), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(object.GetFinalizers()); got != "[example.com/hold]" {
			t.Errorf("finalizers of a set that is deleted: %s", got)
		}
		if err := api.Update(bounded(t), changed(t, object, drop("metadata.finalizers"))); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOldObjectsAreTolerated: an object that was stored under looser rules may be updated in other fields. The looser
// rules are those of a separate definition.
func TestOldObjectsAreTolerated(t *testing.T) {
	t.Parallel()
	t.Run("K-212: under looser rules", func(t *testing.T) {
		const group, old = "old.sliceshift.io", "old.sliceshift.io/v1alpha1"
		loose, strict := definitionIn(t, group), definitionIn(t, group)
		spec := loose.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		pod := spec.Properties["template"].Properties["spec"]
		policy := pod.Properties["restartPolicy"]
		policy.Enum = nil
		pod.Properties["restartPolicy"] = policy
		if err := define(bounded(t), loose); err != nil {
			t.Fatal(err)
		}
		object := manifest(t, old, newNamespace(t), put("spec.template.spec.restartPolicy", "Never"))
		mustCreate(t, object)

		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			if err := api.Get(bounded(t), client.ObjectKeyFromObject(loose), loose); err != nil {
				return err
			}
			loose.Spec = strict.Spec
			return api.Update(bounded(t), loose)
		})
		if err != nil {
			t.Fatal(err)
		}
		err = wait.PollUntilContextCancel(bounded(t), lookAgain, true, func(context.Context) (bool, error) {
			fresh := manifest(t, old, object.GetNamespace(), put("metadata.name", "fresh"), put("spec.template.spec.restartPolicy", "Never"))
			return apierrors.IsInvalid(api.Create(bounded(t), fresh, client.DryRunAll)), nil
		})
		if err != nil {
			t.Fatalf("the strict rules do not come into force: %v", err)
		}
		if err := update(t, object, put("spec.replicas", "2")); err != nil {
			t.Errorf("replicas of an old object: %v", err)
		}
		wantRefused(t, update(t, object, put("spec.template.spec.restartPolicy", "OnFailure")), "spec.template.spec.restartPolicy")
	})
}

// quiet returns the apiVersion of a copy of our kind that no controller watches, so that the objects of a test remain
// unchanged.
func quiet(t testing.TB) string {
	t.Helper()
	if err := defineQuiet(); err != nil {
		t.Fatal(err)
	}
	return quietGroup + "/" + sliceapi.GroupVersion.Version
}

const quietGroup = "quiet.sliceshift.io"

var defineQuiet = sync.OnceValue(func() error {
	crd, err := definition(quietGroup)
	if err != nil {
		return err
	}
	return define(context.Background(), crd)
})

func definitionIn(t *testing.T, group string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd, err := definition(group)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// definition returns the definition of our kind under another group.
func definition(group string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if crd.Spec.Group == sliceapi.GroupVersion.Group {
			crd.Spec.Group = group
			crd.Name = crd.Spec.Names.Plural + "." + group
			return crd, nil
		}
	}
	return nil, errors.New("config has no definition of our kind")
}
