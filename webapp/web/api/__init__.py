"""The API as OpenAPI 3.1 describes it: what each view takes and answers, said beside the view and checked by it."""
