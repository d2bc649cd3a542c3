package health

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// prometheusAsker evaluates a query.
type prometheusAsker struct {
	gate       api.PrometheusGate
	server     *Prometheus
	expression *expression
}

func newPrometheus(gate api.PrometheusGate, at []api.GatePoint, sides Sides) (*prometheusAsker, error) {
	server, err := NewPrometheus("prometheus", gate.PrometheusServer, sides.Addresses, sides.Secrets)
	if err != nil {
		return nil, err
	}
	if err := checkText("prometheus.query", gate.Query, at); err != nil {
		return nil, err
	}
	if strings.TrimSpace(gate.Query) == "" {
		return nil, refuse(api.ReasonGateInvalid, "prometheus.query asks nothing; write a query in PromQL")
	}
	expression, err := compile("prometheus.expression", gate.Expression, ofResults)
	return &prometheusAsker{gate, server, expression}, err
}

// Ask implements Asker.
func (a *prometheusAsker) Ask(ctx context.Context, s Subject) Answer {
	query := s.fill(a.gate.Query)
	result, warnings, trouble := a.server.Numbers(ctx, s.Migration.Namespace, "query", query)
	if trouble != nil {
		return *trouble
	}
	answer := a.judge(ctx, query, result)
	if len(warnings) > 0 {
		answer.Message += ". It warns: " + cut(strings.Join(warnings, "; "), maxWarnings)
	}
	return answer
}

// Limits of the warnings, in bytes, and of the number of values in a message.
const (
	maxWarnings = 300
	maxShown    = 5
)

// judge evaluates the expression over the result of a query.
func (a *prometheusAsker) judge(ctx context.Context, query string, result []float64) Answer {
	asked := fmt.Sprintf("%s to %.200q", a.server, query)
	if len(result) == 0 {
		return because(api.ReasonGateResultEmpty, asked+" answers with nothing: no series matches. Check its names and labels there; where there may be none, say what holds then: ... or vector(0)")
	}
	if slices.ContainsFunc(result, math.IsNaN) {
		return because(api.ReasonGateFailed, asked+" answers with NaN, which is no number to compare: often there was nothing to divide by")
	}
	holds, err := a.expression.holds(ctx, map[string]any{"result": result})
	return answerTo("prometheus.expression", fmt.Sprintf("%s, which answers %s", asked, shown(result)), holds, err)
}

func shown(result []float64) string {
	text := fmt.Sprint(result[:min(len(result), maxShown)])
	if len(result) > maxShown {
		text += fmt.Sprintf(" and %d more", len(result)-maxShown)
	}
	return text
}
