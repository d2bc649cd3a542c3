// Package docs holds the documentation. Its tests keep it consistent with the code.
package docs

import _ "embed"

// Runbook is the page with an entry for each reason.
//
//go:embed runbook.md
var Runbook string
