package move

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// shut is an obstacle that appears during a migration.
type shut struct {
	setting harness.Setting
	before  func(*move)
	// shut creates and open removes the obstacle, on the side that takes the next ordinal.
	shut, open func(*move) error
	reason     string
	says       string
}

// podQuota limits the pods of a side's namespace and waits until the quota is enforced.
func (v *move) podQuota(at harness.Endpoint, most string) error {
	quotas := at.Client.CoreV1().ResourceQuotas(at.Namespace)
	_, err := quotas.Create(v.Ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse(most)}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	v.Eventually("the quota counts", func(ctx context.Context) (bool, error) {
		quota, err := quotas.Get(ctx, "full", metav1.GetOptions{})
		return err == nil && len(quota.Status.Used) > 0, err
	})
	return nil
}

// enforce sets the enforced Pod Security level of a side's namespace; null removes it.
func (v *move) enforce(at harness.Endpoint, level string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":%s}}}`, level)
	_, err := at.Client.CoreV1().Namespaces().Patch(v.Ctx, at.Namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// labelNodes sets the label of the destination's nodes that the pod template requires; null removes it.
func (v *move) labelNodes(value string) error {
	everyNode(v, v.Destination, fmt.Sprintf(`{"metadata":{"labels":{"only/%s":%s}}}`, v.App.Namespace, value))
	return nil
}

func (v *move) className() string { return "of-" + v.App.Namespace }

func shuts() map[string]shut {
	priority := func(v *move) error {
		_, err := v.Destination.SchedulingV1().PriorityClasses().Create(v.Ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: v.className()}, Value: 5}, metav1.CreateOptions{})
		return err
	}
	class := func(v *move) error {
		all, err := v.Destination.StorageV1().StorageClasses().List(v.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		copied := all.Items[slices.IndexFunc(all.Items, func(c storagev1.StorageClass) bool { return len(c.Annotations) > 0 })]
		copied.ObjectMeta = metav1.ObjectMeta{Name: v.className()}
		_, err = v.Destination.StorageV1().StorageClasses().Create(v.Ctx, &copied, metav1.CreateOptions{})
		return err
	}
	return map[string]shut{
		"H6/a quota fills": {
			shut: func(v *move) error { return v.podQuota(v.There(), "1") },
			open: func(v *move) error {
				return v.Destination.CoreV1().ResourceQuotas(v.ToNamespace).Delete(v.Ctx, "full", metav1.DeleteOptions{})
			},
			reason: api.ReasonWriteRefused, says: "exceeded quota: full",
		},
		"H6/Pod Security is enforced": {
			shut:   func(v *move) error { return v.enforce(v.There(), `"restricted"`) },
			open:   func(v *move) error { return v.enforce(v.There(), "null") },
			reason: api.ReasonWriteRefused, says: "violates PodSecurity",
		},
		"H6/a priority class is deleted": {
			before: func(v *move) {
				v.Must(priority(v))
				_, err := v.Source.SchedulingV1().PriorityClasses().Create(v.Ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: v.className()}, Value: 5}, metav1.CreateOptions{})
				v.Must(err)
				v.patchSource(fmt.Sprintf(`{"spec":{"template":{"spec":{"priorityClassName":%q}}}}`, v.className()))
				v.awaitObserved()
				v.Must(v.App.AwaitReady(v.Ctx, v.Source))
			},
			shut: func(v *move) error {
				return v.Destination.SchedulingV1().PriorityClasses().Delete(v.Ctx, v.className(), metav1.DeleteOptions{})
			},
			open: priority, reason: api.ReasonWriteRefused, says: "no PriorityClass with name",
		},
		"H6/no node has the label any more": {
			before: func(v *move) { v.Must(v.labelNodes(`"yes"`)); v.chooseNode() },
			shut:   func(v *move) error { return v.labelNodes("null") },
			open:   func(v *move) error { return v.labelNodes(`"yes"`) },
			reason: api.ReasonNoNodeFits, says: "none has the labels",
		},
		"H6/a storage class is deleted": {
			setting: harness.WithSpec(func(s *api.MigrationSpec) {
				s.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}}}
			}),
			before: func(v *move) {
				v.Must(class(v))
				v.Migration.Spec.Volumes[0].StorageClassName = new(v.className())
			},
			shut: func(v *move) error {
				return v.Destination.StorageV1().StorageClasses().Delete(v.Ctx, v.className(), metav1.DeleteOptions{})
			},
			open: class, reason: volumes.ReasonClassMissing, says: "lacks StorageClass",
		},
	}
}

// TestLetIn: the preflight's result may be outdated when an ordinal is stopped. The receiving side is checked
// again before each stop, and no ordinal is stopped that could not start there (I6).
func TestLetIn(t *testing.T) {
	for name, tc := range shuts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := []harness.Setting{harness.AcrossClusters}
			if tc.setting != nil {
				settings = append(settings, tc.setting)
			}
			v := newMove(t, harness.Usual(2), settings...)
			v.named()
			if tc.before != nil {
				tc.before(v)
			}
			mover, closed, held := v.Mover(), false, false
			v.Drive(mover, harness.Arrival(1)(func() error {
				closed = true
				return tc.shut(v)
			}), harness.When(func(_ *api.Migration, outcome engine.Outcome) bool {
				e := outcome.Decision.Effect
				return outcome.Wrote && e.Verb == plan.ScaleDown && e.Ordinal == 0
			})(func() error {
				if !closed {
					return nil
				}
				t.Error("it was stopped although the destination does not let it in")
				return tc.open(v)
			}), harness.StalledWith(tc.reason)(func() error {
				m, err := mover.Store.Load(v.Ctx)
				if err != nil {
					return err
				}
				held = true
				if m.Status.Source.Available+m.Status.Destination.Available != 2 || m.Status.Source.Replicas != 1 {
					t.Errorf("it holds at %+v and %+v", m.Status.Source, m.Status.Destination)
				}
				if text := stallOf(m); !strings.Contains(text, tc.says) {
					t.Errorf("the status says %q, want %q in it", text, tc.says)
				}
				if tc.setting == nil { // P1: a plan of the remaining move reports it, too
					if out := v.exits(v.about("plan"), 3); !strings.Contains(out, tc.says) {
						t.Errorf("the plan does not say %q:\n%s", tc.says, out)
					}
				}
				closed = false
				return tc.open(v)
			}))
			if !held {
				t.Error("nothing has held it")
			}
			v.ExpectMovedCleanly()
		})
	}
}

// TestWhyThereIsNoPod: an admission that a dry run does not reveal refuses the pod of a stopped ordinal. The
// status shows the error that the pod's controller received (I6).
func TestWhyThereIsNoPod(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.ProgressDeadlineSeconds = new(int32(2)) }))
	v.Must(v.makeNamespace())
	v.keepPodsOut(v.There())
	said := false
	v.Drive(v.Mover(), harness.When(func(m *api.Migration, _ engine.Outcome) bool {
		text := stallOf(m)
		return strings.Contains(text, "cannot create it: ") && strings.Contains(text, "web-0")
	})(func() error {
		said = true
		return v.letPodsIn(v.There())
	}))
	if !said {
		t.Error("the status never says why there is no pod")
	}
	v.ExpectMovedCleanly()
}

// stallOf returns the message of the condition Stalled.
func stallOf(m *api.Migration) string {
	for _, c := range m.Status.Conditions {
		if c.Type == api.ConditionStalled {
			return c.Message
		}
	}
	return ""
}
