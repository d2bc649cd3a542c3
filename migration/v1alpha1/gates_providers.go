package v1alpha1

// HTTPGate asks an endpoint of a pod.
type HTTPGate struct{}

// GRPCGate asks the health service of a pod.
type GRPCGate struct{}

// CELGate evaluates an expression.
type CELGate struct{}

// PrometheusGate evaluates a query.
type PrometheusGate struct{}
