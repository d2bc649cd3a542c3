package move

import (
	"context"
	"errors"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// fault is a temporary failure.
type fault struct {
	name   string
	happen func(time.Duration) error
}

// Changes of mode that a user requests during a migration.
const (
	aPause  = "a pause"
	aChange = "a change of direction"
)

// faults returns all possible faults of this run.
func (r *chaosRun) faults() []fault {
	all := []fault{
		{"a manager is killed", func(time.Duration) error { return r.managers.Kill(r.random.IntN(harness.ManagerCount)) }},
		{"all managers are killed", func(time.Duration) error { return errors.Join(r.managers.Kill(0), r.managers.Kill(1)) }},
		{"a manager is frozen", func(d time.Duration) error {
			return r.managers.Freeze(r.Ctx, r.random.IntN(harness.ManagerCount), d)
		}},
		{"a pod is deleted", func(time.Duration) error { return r.hitPod(r.deletePod) }},
		{"a pod fails", func(time.Duration) error { return r.hitPod(r.failPod) }},
		{"a budget is edited", r.editBudget},
		{aPause, r.detourOfMode(api.ModePause)},
		{aChange, r.detourOfMode(api.ModeRollback)},
	}
	if r.copies != nil {
		all = append(all, r.copyFaults()...)
	}
	if r.inPlace() {
		all = append(all, r.inPlaceFaults()...)
	}
	sides := map[string]*cluster.Cluster{"source": harness.PartsOf(r.From)}
	if r.To != r.From {
		sides["destination"] = harness.PartsOf(r.To)
		all = append(all,
			fault{"the way is cut", r.cutWay},
			fault{"the way is slow", r.slowWay},
			fault{"the way is reset", func(time.Duration) error { r.way.reset(); return nil }},
		)
	}
	for _, side := range []string{"source", "destination"} {
		at := sides[side]
		if at == nil {
			continue
		}
		for _, role := range []cluster.Role{cluster.APIServer, cluster.Etcd, cluster.ControllerManager, cluster.Kwok} {
			all = append(all, fault{fmt.Sprintf("%s of the %s is frozen", role, side), func(d time.Duration) error { return r.freezeRole(at, role, d) }})
			if role != cluster.Kwok {
				all = append(all, fault{fmt.Sprintf("%s of the %s is killed", role, side), func(d time.Duration) error { return r.killRole(at, role, d) }})
			}
		}
	}
	return all
}

func (r *chaosRun) freezeRole(at *cluster.Cluster, role cluster.Role, d time.Duration) error {
	return r.withoutKwok(at, role, func(context.Context) error {
		if err := at.Freeze(role); err != nil {
			return err
		}
		harness.Sleep(r.Ctx, d)
		return at.Thaw(role)
	})
}

func (r *chaosRun) killRole(at *cluster.Cluster, role cluster.Role, d time.Duration) error {
	return r.withoutKwok(at, role, func(mend context.Context) error {
		if err := at.Kill(role); err != nil {
			return err
		}
		harness.Sleep(r.Ctx, d)
		return at.StartRole(mend, role)
	})
}

// withoutKwok stops kwok while the API server or etcd is broken, because kwok sometimes panics then. It repairs
// the fault even if the time of the run is over, because the next run needs the cluster.
func (r *chaosRun) withoutKwok(at *cluster.Cluster, role cluster.Role, do func(mend context.Context) error) error {
	mend, cancel := context.WithTimeout(context.WithoutCancel(r.Ctx), longestFault+mendLimit)
	defer cancel()
	if role != cluster.APIServer && role != cluster.Etcd {
		return errors.Join(do(mend), at.WaitReady(mend))
	}
	if err := at.Kill(cluster.Kwok); err != nil {
		return err
	}
	return errors.Join(do(mend), at.StartRole(mend, cluster.Kwok), at.WaitReady(mend))
}

// mendLimit bounds the time until a broken part answers again.
const mendLimit = time.Minute

func (r *chaosRun) cutWay(d time.Duration) error {
	r.way.cut.Store(true)
	r.way.reset()
	harness.Sleep(r.Ctx, d)
	r.way.cut.Store(false)
	return nil
}

func (r *chaosRun) slowWay(d time.Duration) error {
	r.way.delay.Store(int64(d / 10)) //nolint:mnd // each piece of data takes a tenth of it
	harness.Sleep(r.Ctx, d)
	r.way.delay.Store(0)
	return nil
}

// detourOfMode returns a fault that sets another mode for a while.
func (r *chaosRun) detourOfMode(mode api.Mode) func(time.Duration) error {
	return func(d time.Duration) error {
		if err := r.setMode(mode); err != nil {
			return err
		}
		harness.Sleep(r.Ctx, d)
		return r.setMode(r.mode)
	}
}

// hitPod breaks a pod of either slice. The auditor does not blame the move for this ordinal.
func (r *chaosRun) hitPod(hit func(context.Context, kubernetes.Interface, string, string) error) error {
	ordinal := r.random.Int32N(r.App.Replicas)
	r.Auditor.Blame(ordinal)
	for _, at := range []harness.Endpoint{r.Here(), r.There()} {
		name := fmt.Sprintf("%s-%d", at.Set, ordinal)
		if err := r.insist(func(ctx context.Context) error { return hit(ctx, at.Client, at.Namespace, name) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *chaosRun) deletePod(ctx context.Context, c kubernetes.Interface, namespace, name string) error {
	return c.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

func (r *chaosRun) failPod(ctx context.Context, c kubernetes.Interface, namespace, name string) error {
	_, err := c.CoreV1().Pods(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status")
	return err
}

// editBudget makes the author forbid all disruptions for a while. The migration may notice the edit or not.
func (r *chaosRun) editBudget(d time.Duration) error {
	edit, mark := rand.String(8), ""
	var before *intstr.IntOrString
	err := r.budgetTo(func(budget *policyv1.PodDisruptionBudget) bool {
		if budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.IntValue() == 0 || budget.Annotations[editMark] == edit {
			return false // the migration's own budget, or the first try succeeded without an answer
		}
		before, mark = budget.Spec.MaxUnavailable, budget.Annotations[api.BudgetAnnotationKey]
		metav1.SetMetaDataAnnotation(&budget.ObjectMeta, editMark, edit)
		budget.Spec.MaxUnavailable = new(intstr.FromInt32(0))
		return true
	})
	if err != nil || before == nil {
		return err
	}
	harness.Sleep(r.Ctx, d)
	return r.budgetTo(func(budget *policyv1.PodDisruptionBudget) bool {
		if budget.Annotations[editMark] != edit {
			return false // the edit never succeeded, so this value is not ours
		}
		delete(budget.Annotations, editMark)
		budget.Spec.MaxUnavailable = r.App.MaxUnavailable
		if budget.Annotations[api.BudgetAnnotationKey] == mark {
			budget.Spec.MaxUnavailable = before // the previous share: the migration has not written since
		}
		return true
	})
}

// editMark is an annotation of a budget while another author's edit is in force.
const editMark = "e2e.sliceshift.io/edit"

// budgetTo edits the source's budget as another author. The edit returns false to leave the budget unchanged.
func (r *chaosRun) budgetTo(edit func(*policyv1.PodDisruptionBudget) bool) error {
	budgets := r.Source.PolicyV1().PodDisruptionBudgets(r.App.Namespace)
	return r.insist(func(ctx context.Context) error {
		budget, err := budgets.Get(ctx, r.App.Name, metav1.GetOptions{})
		if err != nil || !edit(budget) {
			return err
		}
		_, err = budgets.Update(ctx, budget, metav1.UpdateOptions{})
		return err
	})
}

// insist repeats a request until it is answered. It ignores missing objects.
func (r *chaosRun) insist(request func(context.Context) error) error {
	const again = 100 * time.Millisecond
	var last error
	err := wait.PollUntilContextCancel(r.Ctx, again, true, func(ctx context.Context) (bool, error) {
		last = request(ctx)
		return last == nil || apierrors.IsNotFound(last) || apierrors.IsInvalid(last), nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}
