#include <jansson.h>
#include <string.h>

#include "cli/base/cmd.h"
#include "cli/base/options.h"
#include "src/tool/read/reader.h"
#include "src/tool/rows/fields.h"

/* Runs while gcbench is built; prints the tables of commands with their options, exit statuses,
 * file formats and result fields as JSON. generate.py makes the manual, the completions,
 * docs/rows.md and the table of fields for Python from it. */

static json_t *row_object(const struct opt_row *row)
{
    const char letter[] = {row->letter, '\0'};
    json_t *choices = json_array();
    char range[80];

    for (size_t i = 0; row->choices && row->choices[i]; i++)
        json_array_append_new(choices, json_string(row->choices[i]));
    return json_pack("{ss ss ss? ss ss? sb sb so}", "name", row->name, "letter", letter, "metavar",
                     opt_metavar(row), "help", row->help, "range",
                     opt_range(range, sizeof(range), row), "repeats", row->type == OPT_LIST,
                     "checked", row->type == OPT_CHOICE, "choices", choices);
}

static json_t *command_object(const struct cmd *cmd)
{
    static const char *const operands[] = {
        [CMD_FILES] = "file", [CMD_METHODS] = "method", [CMD_NOTHING] = "value"};
    const struct opt_extra *extra = &cmd->spec.extra;
    json_t *groups = json_array(), *parameters = json_array();

    for (const struct opt_group *g = cmd->spec.groups; g->rows; g++) {
        json_t *rows = json_array();

        for (const struct opt_row *row = g->rows; row->name; row++)
            json_array_append_new(rows, row_object(row));
        json_array_append_new(groups, json_pack("{ss so}", "title", g->title, "rows", rows));
    }
    for (size_t i = 0; extra->name_at && extra->name_at(i); i++)
        json_array_append_new(parameters, json_string(extra->name_at(i)));
    return json_pack("{ss ss ss ss ss? ss so so}", "name", cmd->name, "summary", cmd->summary,
                     "usage", cmd->usage, "examples", cmd->examples, "details", cmd->details,
                     "operands", operands[cmd->operands], "groups", groups, "parameters",
                     parameters);
}

/* Returns the fields of a kind of rows, or of a part of rows (enum gcb_record), without `record`
 * and `schema`, which every row has. A field is the list [name, type, unit, meaning, true if csv
 * has it]. */
static json_t *record_list(enum gcb_record record)
{
    static const char *const types[] = {"text", "integer", "real", "bool", "list", "object"};
    const struct gcb_field_row *row;
    json_t *list = json_array();

    for (size_t i = 0; (row = gcb_field_row(i)); i++) {
        const struct gcb_field_info *info = gcb_field_info(row->field);

        if (row->records & GCB_RECORD_BIT(record) && row->field != GCB_FIELD_RECORD &&
            row->field != GCB_FIELD_SCHEMA)
            json_array_append_new(list, json_pack("[ssssb]", info->name, types[info->type],
                                                  info->unit, row->meaning, row->csv));
    }
    return list;
}

int main(void)
{
    json_t *commands = json_array(), *exits = json_array(), *records = json_object();
    json_t *readers = json_array(), *all;
    const struct cmd *cmd;
    bool failed;

    for (size_t i = 0; (cmd = cmd_at(i)); i++)
        json_array_append_new(commands, command_object(cmd));
    for (const struct cmd_meaning *x = cmd_meanings; x->words; x++)
        json_array_append_new(exits, json_pack("[iss?]", (int)x->code, x->words, x->command));
    for (size_t i = 0; gcb_readers[i]; i++)
        json_array_append_new(readers,
                              json_pack("[ss]", gcb_readers[i]->name, gcb_readers[i]->summary));
    for (enum gcb_record record = 0; record < GCB_RECORD_PARTS; record++)
        json_object_set_new(records, gcb_record_name(record), record_list(record));
    all = json_pack("{ss so so so so}", "version", gcb_version(), "commands", commands, "exits",
                    exits, "readers", readers, "records", records);
    failed = !all || json_dumpf(all, stdout, JSON_INDENT(1)) || fflush(stdout);
    json_decref(all);
    return failed;
}
