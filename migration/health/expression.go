package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// maxCost is the cost limit of one evaluation, which takes some hundredths of a second. An admission policy may
// cost ten times as much, but is not evaluated every second.
const maxCost = celconfig.PerCallLimit / 10

// language returns the CEL environment of Kubernetes, with its functions and their costs, and additional
// variables.
func language(variables ...cel.EnvOption) (*cel.Env, error) {
	// MustBaseEnvSet panics only for a version that does not exist.
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Extend(variables...)
}

// Both environments are shared by all gates: creating one takes longer than compiling an expression.
var (
	ofObjects = sync.OnceValues(func() (*cel.Env, error) {
		return language(
			cel.Variable("object", cel.DynType), cel.Variable("objects", cel.ListType(cel.DynType)),
			cel.Variable("ordinal", cel.NullableType(cel.IntType)), cel.Variable("pod", cel.StringType), cel.Variable("side", cel.StringType),
		)
	})
	ofResults = sync.OnceValues(func() (*cel.Env, error) { return language(cel.Variable("result", cel.ListType(cel.DynType))) })
)

// expression is a compiled expression that returns true or false.
type expression struct{ program cel.Program }

// compile returns an expression. It refuses a text that is not CEL, that cannot be true or false, or whose
// minimum cost exceeds the limit.
func compile(field, text string, in func() (*cel.Env, error)) (*expression, error) {
	env, err := in()
	if err != nil {
		return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s: CEL cannot be used: %v", field, err))
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s is no CEL: %s", field, positions(issues.Errors())))
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s yields %s, and must yield true or false; compare it with something", field, out))
	}
	if least, err := env.EstimateCost(ast, &library.CostEstimator{}); err == nil && least.Min > maxCost {
		return nil, refuse(api.ReasonGateTooCostly, fmt.Sprintf("%s costs at least %d, and %d is the limit; ask for less at once", field, least.Min, uint64(maxCost)))
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil, refuse(api.ReasonGateInvalid, fmt.Sprintf("%s cannot be evaluated: %v", field, err))
	}
	return &expression{program}, nil
}

// positions returns the first few errors of an expression with their positions.
func positions(found []*common.Error) string {
	const most = 3
	var at []string
	for _, each := range found[:min(most, len(found))] {
		at = append(at, fmt.Sprintf("line %d, column %d: %s", each.Location.Line(), each.Location.Column()+1, each.Message))
	}
	return strings.Join(at, "; ")
}

// Results of an evaluation that are neither true nor false.
var (
	errCost   = errors.New("it costs more than is allowed")
	errNoBool = errors.New("it yields neither true nor false")
	errType   = errors.New("it compares or calls what does not fit together")
	errAbort  = errors.New("it took too long")
)

// holds evaluates the expression. An error that is none of the above is caused by the input, for instance by a
// missing field.
func (e *expression) holds(ctx context.Context, about map[string]any) (bool, error) {
	value, _, err := e.program.ContextEval(ctx, about)
	if cancelled, is := errors.AsType[interpreter.EvalCancelledError](err); is {
		if cancelled.Cause == interpreter.CostLimitExceeded {
			return false, errCost
		}
		return false, errAbort
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return false, errAbort
	case err != nil && strings.Contains(err.Error(), "no such overload"):
		return false, fmt.Errorf("%w: %w", errType, err)
	case err != nil:
		return false, err
	}
	holds, is := value.Value().(bool)
	if !is {
		return false, fmt.Errorf("%w, but %.63s", errNoBool, value.Type().TypeName())
	}
	return holds, nil
}

// unquoted returns an evaluation error without the values that it may quote: the contents of a Secret must not
// reach a status.
func unquoted(err error) error {
	for _, known := range []error{errAbort, errCost, errNoBool, errType} {
		if errors.Is(err, known) {
			return known
		}
	}
	if err != nil {
		return errors.New("the cause is not shown, because it may quote secret data")
	}
	return nil
}

// answerTo returns the answer for the result of an evaluation; of describes its input.
func answerTo(field, of string, holds bool, err error) Answer {
	switch {
	case errors.Is(err, errAbort):
		return because(api.ReasonGateUnanswered, fmt.Sprintf("%s took longer than the gate's timeout over %s; raise timeoutSeconds, or ask for less", field, of))
	case errors.Is(err, errCost):
		return because(api.ReasonGateTooCostly, fmt.Sprintf("%s costs more than %d over %s; ask for less: one object by its name, a narrower selector, fewer loops in loops", field, uint64(maxCost), of))
	case errors.Is(err, errNoBool), errors.Is(err, errType):
		return because(api.ReasonGateInvalid, fmt.Sprintf("%s cannot be answered over %s: %v", field, of, err))
	case err != nil:
		return because(api.ReasonGateFailed, fmt.Sprintf("%s cannot be answered over %s: %v. Where a field may be missing, ask has() or .? first", field, of, err))
	case !holds:
		return because(api.ReasonGateFailed, fmt.Sprintf("%s is false over %s", field, of))
	}
	return passed("%s is true over %s", field, of)
}
