package flags

import (
	"strings"

	"github.com/spf13/pflag"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// Names of flags of a probe.
const (
	flagProbe      = "probe"
	flagProbeQuery = "probe-query"
)

// ofPrometheus is the prefix of a --probe value that is not a URL to request.
const ofPrometheus = "prom="

// probeFlags holds the flags of the probe, which measures availability for clients.
type probeFlags struct {
	target  string
	queries []string
}

func (f *probeFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.target, flagProbe, "", "request this `URL` five times a second during the move, and report errors and latency as clients see them; prom=URL asks a Prometheus instead. The move does not wait for the answers")
	flags.StringArrayVar(&f.queries, flagProbeQuery, nil, "a query for --probe prom=URL, as `NAME=PROMQL`: requests and failed, how many there were since the move began, and p99 in seconds; ${since} stands for that time")
}

// spec returns the probe of the flags, or nil if none is set.
func (f *probeFlags) spec() (*api.ProbeSpec, error) {
	server, metrics := strings.CutPrefix(f.target, ofPrometheus)
	switch {
	case !metrics && len(f.queries) > 0:
		return nil, command.Usagef("--%s is a query for a Prometheus: name it with --%s %sURL", flagProbeQuery, flagProbe, ofPrometheus)
	case f.target == "":
		return nil, nil
	case !metrics:
		return &api.ProbeSpec{URL: f.target}, nil
	}
	asked := &api.PrometheusProbe{PrometheusServer: api.PrometheusServer{Address: server}}
	into := map[string]*string{"requests": &asked.Requests, "failed": &asked.Failed, "p99": &asked.P99}
	for _, text := range f.queries {
		name, query, _ := strings.Cut(text, "=")
		to, known := into[name]
		switch {
		case !known:
			return nil, command.Usagef("--%s has requests=PROMQL, failed=PROMQL and p99=PROMQL, and no %q", flagProbeQuery, name)
		case *to != "" || query == "":
			return nil, command.Usagef("--%s %s=PROMQL needs one query", flagProbeQuery, name)
		}
		*to = query
	}
	if asked.Requests == "" || asked.Failed == "" {
		return nil, command.Usagef("--%s %sURL needs two queries: --%s 'requests=sum(increase(http_requests_total[${since}]))' and --%s 'failed=...'", flagProbe, ofPrometheus, flagProbeQuery, flagProbeQuery)
	}
	return &api.ProbeSpec{Prometheus: asked}, nil
}
