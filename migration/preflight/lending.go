package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Verbs of constrained impersonation (kubernetes apiserver, filters/impersonation/mode.go). They are not needed with
// the verb impersonate, nor with API servers before Kubernetes 1.36.
const (
	impersonate   = "impersonate"
	impersonateOn = "impersonate-on:serviceaccount:"
)

// The prefix of a ServiceAccount's name as a user.
const accountPrefix = "system:serviceaccount:"

// lendsDependencies is the ClusterRole that a manager needs for copies. A manager is not bound to it by default.
const lendsDependencies = "sliceshift-impersonated-dependencies"

// notLent finds for each need the rights that the impersonated account has and that the manager may not use as that
// account. The API server refuses such a request as if the account itself lacked the right.
func notLent(ctx context.Context, at endpoint.Endpoint, needs []required) ([]*plan.Finding, error) {
	if at.Lender == nil {
		return nil, nil
	}
	lender, user, err := at.Lender()
	if err != nil || lender == nil {
		return nil, err
	}
	by, account := at, strings.Split(strings.TrimPrefix(user, accountPrefix), ":")
	if !strings.HasPrefix(user, accountPrefix) || len(account) != 2 {
		return nil, nil
	}
	by.Live = lender
	home := by
	home.Namespace = account[0]
	if all, err := mayDo(ctx, home, Rule{Resource: "serviceaccounts", Name: account[1], Verbs: impersonate}); err != nil || all {
		return nil, err
	}
	lacking, err := lackingOf(ctx, by, onBehalf(needs))
	if err != nil || len(slices.Concat(lacking...)) == 0 {
		return nil, err
	}
	remedy, err := remedyLending(ctx, by)
	findings := make([]*plan.Finding, len(needs))
	for i, names := range lacking {
		if len(names) == 0 {
			continue
		}
		findings[i] = &plan.Finding{
			Check: checkRights, Reason: api.ReasonPermissionMissing, Object: at.Object(),
			Message: fmt.Sprintf("the manager may not, as ServiceAccount %s/%s in cluster %s: %s (namespace %s)",
				account[0], account[1], at.Cluster, strings.ReplaceAll(strings.Join(names, ", "), impersonateOn, ""), at.Namespace),
			Remedy: remedy,
		}
	}
	return findings, err
}

// onBehalf returns the rights of a lender that are needed to use the rights of another identity.
func onBehalf(needs []required) []required {
	lent := slices.Clone(needs)
	for i := range lent {
		lent[i].rules = nil
		for one := range rightsOf(needs[i : i+1]) {
			one.Verbs = impersonateOn + one.Verbs
			lent[i].rules = append(lent[i].rules, one)
		}
	}
	return lent
}

// remedyLending returns the command that grants a lender its missing rights.
func remedyLending(ctx context.Context, lender endpoint.Endpoint) (string, error) {
	name, err := lender.Identity(ctx)
	if err != nil {
		return "", err
	}
	to := "--user=" + name
	if account, is := strings.CutPrefix(name, accountPrefix); is {
		to = "--serviceaccount=" + account
	}
	return "bring the manager's roles up to date: kubectl migrate install; where a Migration copies dependencies, or a gate reads further kinds, let the manager do so: " +
		lender.Kubectl().Do("create", "clusterrolebinding", lendsDependencies, "--clusterrole="+lendsDependencies, to), nil
}
