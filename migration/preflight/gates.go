package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Gate returns why a health gate cannot be evaluated as written; nil if it can.
type Gate func(api.HealthGate) *health.Answer

// healthGates finds health gates that cannot be evaluated, because a migration would wait for them without end. For
// gates that only warn it returns warnings.
func (e *Inspector) healthGates(ctx context.Context, m *api.Migration, _ *appsv1.StatefulSet) ([]plan.Finding, error) {
	gates := m.Spec.Gates
	if e.Gate == nil || len(gates) == 0 {
		return nil, nil
	}
	findings := e.wrongGates(gates)
	for _, at := range []endpoint.Endpoint{e.Source, e.Destination} {
		missing, err := missingOf(ctx, at,
			required{gateRights(gates), "bind the ClusterRole sliceshift-mover-gates to the identity that is used there, in namespace " + at.Namespace},
			required{jobRights(gates, at.Side), "bind the ClusterRole sliceshift-mover-jobs to the identity that is used there, in namespace " + at.Namespace},
			required{secretRights(gates), "allow the identity that is used there to get them, and bind the role to it: " +
				at.Kubectl().Do("create", append([]string{"role", "gate-secrets", "-n", at.Namespace, "--verb=get", "--resource=secrets"}, resourceNames(gates)...)...)})
		if err != nil {
			return nil, err
		}
		findings = append(findings, missing...)
	}
	return findings, nil
}

func (e *Inspector) wrongGates(gates []api.HealthGate) []plan.Finding {
	var findings []plan.Finding
	for _, gate := range gates {
		if wrong := e.Gate(gate); wrong != nil {
			findings = append(findings, plan.Finding{
				Reason: wrong.Reason, Object: "gate " + gate.Name, Warning: gate.DryRun,
				Message: fmt.Sprintf("gate %s cannot be evaluated: %s", gate.Name, wrong.Message),
				Remedy:  "correct it in spec.gates, or remove it",
			})
		}
	}
	return findings
}

// gateRights returns the rights that blocking gates need on a side, except to read the objects of expressions.
func gateRights(gates []api.HealthGate) []Rule {
	var rules []Rule
	for _, gate := range gates {
		switch {
		case gate.DryRun:
		case gate.HTTP != nil && len(gate.HTTP.Secrets()) > 0:
			rules = append(rules, Rule{Resource: "pods/portforward", Verbs: "create"})
		case gate.HTTP != nil:
			rules = append(rules, Rule{Resource: "pods/proxy", Verbs: "get"})
		case gate.GRPC != nil:
			rules = append(rules, Rule{Resource: "pods/portforward", Verbs: "create"})
		}
	}
	return rules
}

// sentSecrets returns the names of the Secrets whose values the blocking gates send to pods.
func sentSecrets(gates []api.HealthGate) []string {
	var names []string
	for _, gate := range gates {
		if gate.HTTP == nil || gate.DryRun {
			continue
		}
		for _, ref := range gate.HTTP.Secrets() {
			names = append(names, ref.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// secretRights returns the rights of the blocking gates to read these Secrets.
func secretRights(gates []api.HealthGate) []Rule {
	var rules []Rule
	for _, name := range sentSecrets(gates) {
		rules = append(rules, Rule{Resource: "secrets", Verbs: "get", Name: name})
	}
	return rules
}

// resourceNames returns the arguments of kubectl that name these Secrets.
func resourceNames(gates []api.HealthGate) (words []string) {
	for _, name := range sentSecrets(gates) {
		words = append(words, "--resource-name="+name)
	}
	return words
}

// jobRights returns the rights that blocking gates need to run Jobs on a side.
func jobRights(gates []api.HealthGate, name plan.SideName) []Rule {
	side := api.GateSource
	if name == plan.DestinationSide {
		side = api.GateDestination
	}
	for _, gate := range gates {
		if gate.Job != nil && !gate.DryRun && (gate.Job.Side == "" || gate.Job.Side == side) {
			return []Rule{{Group: "batch", Resource: "jobs", Verbs: "get create"}}
		}
	}
	return nil
}
