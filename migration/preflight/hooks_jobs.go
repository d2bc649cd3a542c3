package preflight

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/jobs"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
)

// jobHooks finds hooks that cannot run: because of their spec, a missing right, or because the API server refuses
// their Jobs or pods in a dry run.
func (e *Inspector) jobHooks(ctx context.Context, m *api.Migration, source *appsv1.StatefulSet) ([]plan.Finding, error) {
	var findings []plan.Finding
	lacks := map[plan.SideName]bool{}
	for _, at := range []endpoint.Endpoint{e.Source, e.Destination} {
		if !runsOn(m.Spec.Hooks, at.Side) {
			continue
		}
		missing, err := missingOf(ctx, at, required{[]Rule{{Group: "batch", Resource: "jobs", Verbs: "get create patch"}}, plan.RemedyJobRights + ", in namespace " + at.Namespace})
		if err != nil {
			return nil, err
		}
		findings, lacks[at.Side] = append(findings, missing...), len(missing) > 0
	}
	for _, turn := range firstTurns(m, source) {
		if unfit := turn.Hook.Unfit(); unfit != "" {
			findings = append(findings, plan.Finding{
				Reason: api.ReasonHookInvalid, Object: "hook " + turn.Hook.Name,
				Message: fmt.Sprintf("hook %s cannot be run: %s", turn.Hook.Name, unfit), Remedy: "correct it in spec.hooks, or remove it",
			})
			continue
		}
		if lacks[turn.Side] {
			continue
		}
		finding, err := e.rehearseHook(ctx, m, turn)
		if err != nil {
			return nil, err
		}
		if finding != nil {
			findings = append(findings, *finding)
		}
	}
	return findings, nil
}

// runsOn reports whether one of the hooks runs on the side, in either direction.
func runsOn(hooks []api.Hook, name plan.SideName) bool {
	for _, hook := range hooks {
		back := hook.OnRollback != api.HookRollbackSkip
		for _, about := range plan.SideNames {
			forward := hook.Point.Before() == (about == plan.SourceSide)
			if (forward || back) && plan.HookSide(hook, about) == name {
				return true
			}
		}
	}
	return false
}

// firstTurns returns the runs of hooks on the way to the destination. Hooks of ordinals are for the first ordinal
// that moves.
func firstTurns(m *api.Migration, source *appsv1.StatefulSet) []plan.HookTurn {
	ordinals := movingOrdinals(m, source)
	var turns []plan.HookTurn
	for _, hook := range m.Spec.Hooks {
		about := plan.DestinationSide
		if hook.Point.Before() {
			about = plan.SourceSide
		}
		turn := plan.HookTurn{
			Hook: hook, About: about, Side: plan.HookSide(hook, about), Direction: api.Forward,
			Run: api.HookRun{Name: hook.Name, Point: hook.Point, Attempt: 1, Job: "rehearsal-of-" + strings.TrimRight(hook.Name[:min(len(hook.Name), 40)], "-")},
		}
		if hook.Point.OfOrdinal() && len(ordinals) > 0 {
			turn.Run.Ordinal = &ordinals[0]
		}
		turns = append(turns, turn)
	}
	return turns
}

func (e *Inspector) rehearseHook(ctx context.Context, m *api.Migration, turn plan.HookTurn) (*plan.Finding, error) {
	at, job := e.At(turn.Side), world.HookJob(e.Pair, m.UID, turn)
	finding, err := rehearsal(at, job, at.Live.Create(ctx, job.DeepCopy(), client.DryRunAll))
	if finding == nil && err == nil {
		if refused := jobs.PodRefused(ctx, at.Live, job); refused == nil || !endpoint.LacksRight(refused) { // without the right to create pods there is no answer
			finding, err = rehearsal(at, job, refused)
		}
	}
	if finding == nil || err != nil {
		return nil, err
	}
	finding.Object = fmt.Sprintf("hook %s in cluster %s", turn.Hook.Name, at.Cluster)
	finding.Message = fmt.Sprintf("hook %s could not be run in namespace %s of cluster %s: %s", turn.Hook.Name, at.Namespace, at.Cluster, finding.Message)
	finding.Remedy = "let its Job and its pod in there, or correct job.spec of the hook"
	if !finding.Warning {
		finding.Reason = api.ReasonHookRefused
	}
	return finding, nil
}
